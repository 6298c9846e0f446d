# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Bayesian posteriors from sensitive records, with a proven privacy cost.

Importing the package does no work: each name is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpmcmc.adapters import NumPyro, PyMC
    from dpmcmc.errors import InputError, NotUsableError, StoppedError
    from dpmcmc.files import read_schema
    from dpmcmc.model import Model, Preparation, PythonFunction, Schema, Statistics
    from dpmcmc.models.formulas import formula
    from dpmcmc.posterior import Posterior, Statement, combine, compare
    from dpmcmc.private import Records
    from dpmcmc.proposals import Adaptive, BoundedWalk, RandomWalk
    from dpmcmc.rehearsal.planning import plan
    from dpmcmc.rehearsal.rehearse import rehearse
    from dpmcmc.report.pictures import plot_posterior
    from dpmcmc.sampling.barker import Barker, GaussianBarker
    from dpmcmc.sampling.control_variates import ControlVariates
    from dpmcmc.sampling.minibatch_barker import MinibatchBarker
    from dpmcmc.sampling.sample import sample, sample_not_private
    from dpmcmc.sampling.sufficient_statistics import SufficientStatistics
    from dpmcmc.sampling.tempering import Coarsening

_HOMES = {
    "Adaptive": "dpmcmc.proposals",
    "Barker": "dpmcmc.sampling.barker",
    "BoundedWalk": "dpmcmc.proposals",
    "Coarsening": "dpmcmc.sampling.tempering",
    "ControlVariates": "dpmcmc.sampling.control_variates",
    "GaussianBarker": "dpmcmc.sampling.barker",
    "InputError": "dpmcmc.errors",
    "MinibatchBarker": "dpmcmc.sampling.minibatch_barker",
    "Model": "dpmcmc.model",
    "NotUsableError": "dpmcmc.errors",
    "NumPyro": "dpmcmc.adapters",
    "Posterior": "dpmcmc.posterior",
    "Preparation": "dpmcmc.model",
    "PyMC": "dpmcmc.adapters",
    "PythonFunction": "dpmcmc.model",
    "RandomWalk": "dpmcmc.proposals",
    "Records": "dpmcmc.private",
    "Schema": "dpmcmc.model",
    "Statement": "dpmcmc.posterior",
    "Statistics": "dpmcmc.model",
    "StoppedError": "dpmcmc.errors",
    "SufficientStatistics": "dpmcmc.sampling.sufficient_statistics",
    "combine": "dpmcmc.posterior",
    "compare": "dpmcmc.posterior",
    "formula": "dpmcmc.models.formulas",
    "plan": "dpmcmc.rehearsal.planning",
    "plot_posterior": "dpmcmc.report.pictures",
    "read_schema": "dpmcmc.files",
    "rehearse": "dpmcmc.rehearsal.rehearse",
    "sample": "dpmcmc.sampling.sample",
    "sample_not_private": "dpmcmc.sampling.sample",
}

_ROOMS = {
    "clipping": "dpmcmc.influence.choices",
    "models": "dpmcmc.models",
    "preparation": "dpmcmc.model.preparation",
    "proposals": "dpmcmc.proposals",
}
"""Rooms with many names: ``dpmcmc.models.normal``."""

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
    "NotUsableError",
    "NumPyro",
    "Posterior",
    "Preparation",
    "PyMC",
    "PythonFunction",
    "RandomWalk",
    "Records",
    "Schema",
    "Statement",
    "Statistics",
    "StoppedError",
    "SufficientStatistics",
    "__version__",
    "combine",
    "compare",
    "formula",
    "plan",
    "plot_posterior",
    "read_schema",
    "rehearse",
    "sample",
    "sample_not_private",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _ROOMS:
        return import_module(_ROOMS[name])
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415 - only where it is asked

        return version("dpmcmc")
    raise AttributeError(f"module 'dpmcmc' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, *_ROOMS]
