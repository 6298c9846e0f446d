# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The posterior: draws with their privacy statement, summaries and files."""

from dpmcmc.posterior.posterior import Posterior
from dpmcmc.posterior.predictions import Predictions, compare
from dpmcmc.posterior.statement import Statement
from dpmcmc.posterior.synthetic_tables import Synthetic, combine

__all__ = ["Posterior", "Predictions", "Statement", "Synthetic", "combine", "compare"]
