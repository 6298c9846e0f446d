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
    from dpmcmc.model.model import Model
    from dpmcmc.model.preparation import Preparation
    from dpmcmc.model.python_function import PythonFunction
    from dpmcmc.model.statistics import Statistics
    from dpmcmc.planning import Plan, plan
    from dpmcmc.posterior.posterior import Posterior
    from dpmcmc.posterior.statement import Statement
    from dpmcmc.private import Records
    from dpmcmc.proposals import Adaptive, BoundedWalk, RandomWalk
    from dpmcmc.rehearsal import choose, rehearse
    from dpmcmc.report.pictures import plot_posterior
    from dpmcmc.sampler import sample, sample_not_private
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
    "Posterior": "dpmcmc.posterior.posterior",
    "Preparation": "dpmcmc.model.preparation",
    "Adaptive": "dpmcmc.proposals",
    "BoundedWalk": "dpmcmc.proposals",
    "RandomWalk": "dpmcmc.proposals",
    "PythonFunction": "dpmcmc.model.python_function",
    "Records": "dpmcmc.private",
    "Statement": "dpmcmc.posterior.statement",
    "Statistics": "dpmcmc.model.statistics",
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


_ROOMS = {
    "clipping": "dpmcmc.influence.choices",
    "models": "dpmcmc.models",
    "preparation": "dpmcmc.model.preparation",
    "proposals": "dpmcmc.proposals",
}
"""Rooms whose names are many: ``dpmcmc.models.normal``."""


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _ROOMS:
        return import_module(_ROOMS[name])
    raise AttributeError(f"module 'dpmcmc' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, *_ROOMS]
