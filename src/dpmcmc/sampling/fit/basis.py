# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The directions of θ that records inform, and those in which only the prior speaks.

A parameter of the prior alone is in no record's log-likelihood; and where group effects
are added to a common mean, records inform their sums only. Both are properties of the
model: they are found from its program and from made-up records, and are public.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from scipy.linalg import qr, solve_triangular

from dpmcmc.influence.derivatives import prepared
from dpmcmc.influence.predictors import find_predictors
from dpmcmc.model.informed import informed_coordinates
from dpmcmc.model.model import Model
from dpmcmc.model.preparation import Clamp, OneHot
from dpmcmc.model.tracing import is_double
from dpmcmc.sampling.problem import Problem

__all__ = ["Basis", "basis_of", "made_up"]

_MADE_UP = 4096
"""Made-up records; integers among their values run up to here."""

_OFTEN_SMALL = 512
"""And so many before them whose integers are often 0 or 1, as if they were clamped."""

_FEW, _TIMES = 256, 8
"""And so many after them, in which each of so few integers occurs several times: a
group has an intercept and slopes, which one record of it does not tell apart."""

_MOST_NUMBERS = 2**26
_COLLINEAR = 1e-9


class Basis(NamedTuple):
    """Coordinates of which the first are informed: θ = centre + factor u + rest w.

    Attributes
    ----------
    factor
        A column for each informed coordinate u: a unit vector.
    inverse
        What makes u of θ − centre; the log-likelihood depends on θ through u alone.
    rest
        Columns of directions in which no record's log-likelihood changes.
    """

    factor: np.ndarray
    inverse: np.ndarray
    rest: np.ndarray


def basis_of(problem: Problem) -> Basis:
    """Find what records inform; from the model, and no record is read.

    The log-likelihood depends on θ through predictors η = a + B θ, with a and B of each
    record. Directions that no row of any B reaches are found by pivoted QR of the rows
    for made-up records of many kinds.
    """
    informed = np.flatnonzero(informed_coordinates(problem.model, problem.one_record))
    size = problem.coordinates
    rows = _slopes(problem)[:, informed]
    lengths = np.linalg.norm(rows, axis=0)
    pivots, combined = np.arange(len(informed)), np.zeros((len(informed), 0))
    if rows.size and np.all(np.isfinite(lengths)) and np.all(lengths > 0):
        # Triangular factors of all rows together are those of their own triangle.
        triangle = np.linalg.qr(rows / lengths, mode="r")
        _, upper, order = qr(triangle, mode="economic", pivoting=True)
        sizes = np.abs(np.diag(upper))
        rank = int(np.sum(sizes > _COLLINEAR * sizes[0]))
        pivots = order
        combined = solve_triangular(upper[:rank, :rank], upper[:rank, rank:])
        combined *= lengths[order[rank:]] / lengths[order[:rank], None]
    rank = len(pivots) - combined.shape[1]
    keep, drop = pivots[:rank], pivots[rank:]
    kept = np.argsort(keep)
    keep, combined = keep[kept], combined[kept]
    unit = np.eye(size)
    factor = unit[:, informed[keep]]
    inverse = factor.T.copy()
    inverse[:, informed[drop]] = combined
    others = np.setdiff1d(np.arange(size), informed[keep])
    rest = unit[:, others] - factor @ inverse[:, others]
    return Basis(factor, inverse, rest)


def _slopes(problem: Problem) -> np.ndarray:
    """Rows of B for made-up records; none where they cannot be had."""
    model = problem.model
    # In the precision of the chain: numbers of made-up records are exact in any.
    with jax.enable_x64(is_double(problem.dtype)):
        start = problem.initial
        flat, unravel = ravel_pytree(start)

        def slope(record: Any) -> jax.Array:
            record = prepared(model, record)
            found = find_predictors(model.log_likelihood, start, record)
            if found.size * len(flat) * _MADE_UP > _MOST_NUMBERS:
                return jnp.zeros((0, len(flat)))

            def eta(at: jax.Array) -> jax.Array:
                return ravel_pytree(found.at(unravel(at), record))[0]

            # Forward: backward, an index out of range would read nothing at all.
            return jax.jacfwd(eta)(flat)

        rows = jax.jit(jax.vmap(slope))(made_up(problem))
        return np.asarray(rows, np.float64).reshape(-1, len(flat))


def made_up(problem: Problem) -> Any:
    """Records of many kinds: 0 and 1, small numbers, whole ones to a few thousand.

    A column of which the model states all values has no others: levels, and responses
    that are listed.
    """
    made = _of_many_kinds(problem.one_record)
    generator = np.random.default_rng(1)
    for name, values in _stated_values(problem.model).items():
        if isinstance(made, dict) and made[name].ndim == 1:
            chosen = generator.choice(np.asarray(values), len(made[name]))
            made[name] = chosen.astype(made[name].dtype)
    return made


def _stated_values(model: Model) -> dict[str, Any]:
    """Columns as they come, with all values that the model states of them."""
    found: dict[str, Any] = {}
    steps_of: dict[str, list[Any]] = {}
    preparation = model.preparation
    while preparation is not None:
        if isinstance(preparation.columns, Mapping):
            for name, steps in preparation.columns.items():
                own = list(steps) if isinstance(steps, list | tuple) else [steps]
                steps_of[name] = own + steps_of.get(name, [])
        preparation = preparation.first
    for name, steps in steps_of.items():
        if isinstance(steps[0], OneHot):
            found[name] = steps[0].levels
    for name, values in (model.responses or {}).items():
        is_as_it_comes = all(isinstance(one, Clamp) for one in steps_of.get(name, []))
        if is_as_it_comes and isinstance(values, Sequence):
            found[name] = values
    return found


def _of_many_kinds(one_record: Any) -> Any:
    generator = np.random.default_rng(0)

    def permuted(numbers: np.ndarray, leaf: Any) -> np.ndarray:
        rows = numbers.reshape(-1, *(1,) * len(leaf.shape))
        shape = (len(numbers), *leaf.shape)
        return generator.permuted(np.broadcast_to(rows, shape), axis=0)

    def column(leaf: Any) -> np.ndarray:
        each, again = np.arange(_MADE_UP), np.arange(_FEW * _TIMES) % _FEW
        whole = np.concatenate([permuted(each, leaf), permuted(again, leaf)])
        shape = whole.shape
        if leaf.dtype == bool:
            return whole % 2 == 0
        if np.issubdtype(leaf.dtype, np.integer):
            most = min(np.iinfo(leaf.dtype).max + 1, _MADE_UP)
            return (whole % most).astype(leaf.dtype)
        kind = generator.integers(3, size=shape)
        small = generator.standard_normal(shape)
        return np.choose(kind, [small, whole % 2, whole]).astype(leaf.dtype)

    def with_small(leaf: np.ndarray) -> np.ndarray:
        first = leaf[:_OFTEN_SMALL]
        if np.issubdtype(leaf.dtype, np.integer):
            first = np.where(generator.random(first.shape) < 0.5, first % 2, first)
        return np.concatenate([first, leaf])

    return jax.tree.map(with_small, jax.tree.map(column, one_record))
