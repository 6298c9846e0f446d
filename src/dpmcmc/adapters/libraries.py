# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Libraries: which one a model is written for, without importing any of them."""

import functools
import inspect
import sys
from collections.abc import Iterator
from types import CodeType
from typing import Any

from dpmcmc.errors import InputError

__all__ = ["adapted", "is_of_library"]


def is_of_library(model: Any) -> bool:
    """Whether a model is a function, or one of PyMC."""
    return _is_pymc_model(model) or (callable(model) and not isinstance(model, type))


def adapted(model: Any) -> Any:
    """What makes a `Model` of a function or a PyMC model, once records are known.

    A function that names PyMC is taken for a PyMC model, any other for one of NumPyro.

    Raises
    ------
    InputError
        If the library is not installed.
    """
    if _is_pymc_model(model) or _names_pymc(model):
        try:
            from dpmcmc.adapters.pymc import PyMC  # noqa: PLC0415 - optional
        except ModuleNotFoundError:
            raise InputError(
                "model is a PyMC model, but PyMC is not installed. Install "
                "dpmcmc[pymc], or give a dpmcmc.Model."
            ) from None
        return PyMC(model)
    try:
        from dpmcmc.adapters.numpyro import NumPyro  # noqa: PLC0415 - optional
    except ModuleNotFoundError:
        raise InputError(
            "model is a function, which stands for a NumPyro model, but NumPyro is not "
            "installed. Install dpmcmc[numpyro], or give a dpmcmc.Model. A function "
            "that makes a PyMC model is wrapped in dpmcmc.PyMC."
        ) from None
    return NumPyro(model)


def _is_pymc_model(model: Any) -> bool:
    pymc = sys.modules.get("pymc")
    return pymc is not None and isinstance(model, pymc.Model)


def _names_pymc(model: Any) -> bool:
    """Whether a function, or one of its own file that it calls, names PyMC."""
    while isinstance(model, functools.partial):
        model = model.func
    waiting, seen = [inspect.unwrap(model)], set()
    while waiting:
        function = waiting.pop()
        code = getattr(function, "__code__", None)
        if code is None or code in seen:
            continue
        seen.add(code)
        known = {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
        for name in _names(code):
            found = known.get(name)
            home = getattr(found, "__module__", None) or getattr(found, "__name__", "")
            if name == "pymc" or str(home).split(".")[0] == "pymc":
                return True
            if home == function.__module__:
                waiting.append(inspect.unwrap(found) if callable(found) else found)
    return False


def _names(code: CodeType) -> Iterator[str]:
    """Names that code reads from outside, at any depth."""
    yield from (*code.co_names, *code.co_freevars)
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _names(part)
