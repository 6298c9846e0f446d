# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What the user states: log-likelihood, prior, simulator, preparation, statistics."""

from dpmcmc.model.model import Model
from dpmcmc.model.preparation import Preparation
from dpmcmc.model.python_function import PythonFunction
from dpmcmc.model.schema import Schema
from dpmcmc.model.statistics import Statistics
from dpmcmc.model.units import Unit, sum_over_records

__all__ = [
    "Model",
    "Preparation",
    "PythonFunction",
    "Schema",
    "Statistics",
    "Unit",
    "sum_over_records",
]
