# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Models of other libraries, turned into a `Model`."""

from dpmcmc.adapters.numpyro import NumPyro, from_numpyro

__all__ = ["NumPyro", "from_numpyro"]
