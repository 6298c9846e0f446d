# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Models of other libraries, turned into a `Model`.

Each library is imported when a name of its adapter is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpmcmc.adapters.numpyro import NumPyro, from_numpyro
    from dpmcmc.adapters.pymc import PyMC, from_pymc

__all__ = ["NumPyro", "PyMC", "from_numpyro", "from_pymc"]

_HOMES = {
    "NumPyro": "dpmcmc.adapters.numpyro",
    "PyMC": "dpmcmc.adapters.pymc",
    "from_numpyro": "dpmcmc.adapters.numpyro",
    "from_pymc": "dpmcmc.adapters.pymc",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'dpmcmc.adapters' has no attribute {name!r}")
