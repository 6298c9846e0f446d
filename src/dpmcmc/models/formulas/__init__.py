# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Formulas: regressions from one line, by declared bounds and levels."""

from dpmcmc.models.formulas.after import Predictor, declared_rows
from dpmcmc.models.formulas.coding import series_of
from dpmcmc.models.formulas.formula import (
    coded_table,
    columns_of,
    formula,
    regression_of,
)

__all__ = [
    "Predictor",
    "coded_table",
    "columns_of",
    "declared_rows",
    "formula",
    "regression_of",
    "series_of",
]
