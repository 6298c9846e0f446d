# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Bayesian posteriors from sensitive records, with a proven privacy cost.

Importing the package does no work: each name is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpmcmc.acceptance import (
        Barker,
        Coarsening,
        GaussianBarker,
        MinibatchBarker,
    )
    from dpmcmc.adapters import from_numpyro
    from dpmcmc.errors import InputError
    from dpmcmc.model import Model
    from dpmcmc.planning import Plan, plan
    from dpmcmc.posterior import Posterior
    from dpmcmc.preparation import Preparation
    from dpmcmc.private import Records
    from dpmcmc.proposals import Adaptive, BoundedWalk, RandomWalk
    from dpmcmc.python_function import PythonFunction
    from dpmcmc.rehearsal import choose, rehearse
    from dpmcmc.report.pictures import plot_posterior
    from dpmcmc.sampler import sample, sample_not_private
    from dpmcmc.statement import Statement
    from dpmcmc.statistics import Statistics
    from dpmcmc.surrogates import ControlVariates, SufficientStatistics
    from dpmcmc.variational import Variational

__all__ = [
    "Adaptive",
    "Barker",
    "BoundedWalk",
    "Coarsening",
    "ControlVariates",
    "GaussianBarker",
    "InputError",
    "MinibatchBarker",
    "Model",
    "Plan",
    "Posterior",
    "Preparation",
    "PythonFunction",
    "RandomWalk",
    "Records",
    "Statement",
    "Statistics",
    "SufficientStatistics",
    "Variational",
    "choose",
    "from_numpyro",
    "plan",
    "plot_posterior",
    "rehearse",
    "sample",
    "sample_not_private",
]

_HOMES = {
    "Barker": "dpmcmc.acceptance",
    "Coarsening": "dpmcmc.acceptance",
    "GaussianBarker": "dpmcmc.acceptance",
    "MinibatchBarker": "dpmcmc.acceptance",
    "from_numpyro": "dpmcmc.adapters",
    "InputError": "dpmcmc.errors",
    "Model": "dpmcmc.model",
    "Plan": "dpmcmc.planning",
    "Posterior": "dpmcmc.posterior",
    "Preparation": "dpmcmc.preparation",
    "Adaptive": "dpmcmc.proposals",
    "BoundedWalk": "dpmcmc.proposals",
    "RandomWalk": "dpmcmc.proposals",
    "PythonFunction": "dpmcmc.python_function",
    "Records": "dpmcmc.private",
    "Statement": "dpmcmc.statement",
    "Statistics": "dpmcmc.statistics",
    "ControlVariates": "dpmcmc.surrogates",
    "SufficientStatistics": "dpmcmc.surrogates",
    "Variational": "dpmcmc.variational",
    "plan": "dpmcmc.planning",
    "plot_posterior": "dpmcmc.report.pictures",
    "choose": "dpmcmc.rehearsal",
    "rehearse": "dpmcmc.rehearsal",
    "sample": "dpmcmc.sampler",
    "sample_not_private": "dpmcmc.sampler",
}


_ROOMS = ("clipping", "models", "preparation", "proposals")
"""Rooms whose names are many: ``dpmcmc.models.normal``."""


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _ROOMS:
        return import_module(f"dpmcmc.{name}")
    raise AttributeError(f"module 'dpmcmc' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, *_ROOMS]
