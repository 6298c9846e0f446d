# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Preparation: what is done to each record, by public bounds, before it is read.

Every step is declared with public numbers and sees one record; the statement of a run
lists them. The steps are a closed set, so that none can mix records or show one.

A value that is not a number stays so through every step, and what a step cannot use
(no level of `OneHot`, the logarithm of zero) becomes not a number. The log-likelihood
of such a record is not a number either, so that it counts for nothing in any decision.
"""

from dpmcmc.model.preparation.columns import Copy, Stack
from dpmcmc.model.preparation.declaration import Preparation, Step
from dpmcmc.model.preparation.steps import (
    Clamp,
    ClampNorm,
    Log,
    OneHot,
    Scale,
    Standardise,
)
from dpmcmc.model.preparation.whiten import Whiten

__all__ = [
    "Clamp",
    "ClampNorm",
    "Copy",
    "Log",
    "OneHot",
    "Preparation",
    "Scale",
    "Stack",
    "Standardise",
    "Step",
    "Whiten",
]
