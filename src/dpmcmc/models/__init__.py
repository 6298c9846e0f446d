# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Ready models: prior, simulator, public bounds and, where it holds, a Lipschitz bound.

Each function returns a `dpmcmc.Model`, whose parts can be changed by
``dataclasses.replace``: another place to start, say. Their table, with the derivation
of every Lipschitz bound, is in ``docs/models.md``.
"""

from dpmcmc.models.counts import negative_binomial_regression, poisson_regression
from dpmcmc.models.design_columns import categorical, normal_mean, poisson
from dpmcmc.models.mixtures import mixture, two_component_mixture
from dpmcmc.models.panels import (
    PersonEffect,
    integrate_effect,
    logistic_panel,
    poisson_panel,
)
from dpmcmc.models.regression import linear_regression, logistic_regression
from dpmcmc.models.single import bernoulli, normal
from dpmcmc.models.weighted import Leverage, survey_weighted, weighted

__all__ = [
    "Leverage",
    "PersonEffect",
    "bernoulli",
    "categorical",
    "integrate_effect",
    "linear_regression",
    "logistic_panel",
    "logistic_regression",
    "mixture",
    "negative_binomial_regression",
    "normal",
    "normal_mean",
    "poisson",
    "poisson_panel",
    "poisson_regression",
    "survey_weighted",
    "two_component_mixture",
    "weighted",
]
