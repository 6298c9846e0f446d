# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Private variational inference: where a chain may start, and how it may move."""

from dpmcmc.variational.fit import Start, check_start, fit_start
from dpmcmc.variational.settings import Plan, Variational

__all__ = ["Plan", "Start", "Variational", "check_start", "fit_start"]
