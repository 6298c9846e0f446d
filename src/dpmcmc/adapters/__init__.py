# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Adapters: models that people have already written, turned into a `Model`."""

from dpmcmc.adapters.numpyro import from_numpyro

__all__ = ["from_numpyro"]
