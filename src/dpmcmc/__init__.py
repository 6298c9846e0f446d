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
    from dpmcmc.errors import InputError
    from dpmcmc.model import Model
    from dpmcmc.planning import Plan, plan
    from dpmcmc.posterior import Posterior
    from dpmcmc.private import Records
    from dpmcmc.proposals import RandomWalk
    from dpmcmc.report.pictures import plot_posterior
    from dpmcmc.sampler import sample, sample_not_private
    from dpmcmc.statement import Statement

__all__ = [
    "Barker",
    "Coarsening",
    "GaussianBarker",
    "InputError",
    "MinibatchBarker",
    "Model",
    "Plan",
    "Posterior",
    "RandomWalk",
    "Records",
    "Statement",
    "plan",
    "plot_posterior",
    "sample",
    "sample_not_private",
]

_HOMES = {
    "Barker": "dpmcmc.acceptance",
    "Coarsening": "dpmcmc.acceptance",
    "GaussianBarker": "dpmcmc.acceptance",
    "MinibatchBarker": "dpmcmc.acceptance",
    "InputError": "dpmcmc.errors",
    "Model": "dpmcmc.model",
    "Plan": "dpmcmc.planning",
    "Posterior": "dpmcmc.posterior",
    "RandomWalk": "dpmcmc.proposals",
    "Records": "dpmcmc.private",
    "Statement": "dpmcmc.statement",
    "plan": "dpmcmc.planning",
    "plot_posterior": "dpmcmc.report.pictures",
    "sample": "dpmcmc.sampler",
    "sample_not_private": "dpmcmc.sampler",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'dpmcmc' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
