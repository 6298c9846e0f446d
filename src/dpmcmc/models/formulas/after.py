# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""After the draws: what a formula predicts for rows that are public or made up.

Draws are released; nothing here reads a record, and nothing costs anything.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.errors import InputError
from dpmcmc.models.formulas.coding import CodedTable, series_of
from dpmcmc.models.formulas.families import Given
from dpmcmc.models.formulas.formula import columns_of, regression_of, steps_of
from dpmcmc.models.formulas.linear_model import Regression

__all__ = ["Predictor", "PreparedRows", "declared_rows"]

_AT_ONCE = 2**22
"""Numbers that are computed together: draws times rows."""


class PreparedRows(NamedTuple):
    """Columns of rows, prepared as records are, and how many rows there are."""

    columns: Mapping[str, np.ndarray]
    size: int


@dataclass(frozen=True, eq=False)
class Predictor:
    """A declared formula with draws of its parameters, as they are shown.

    Parameters
    ----------
    declared
        What `Model.declared` keeps.
    draws
        An array for each parameter, with draws along the first axis.
    """

    declared: Mapping[str, Any]
    draws: Mapping[str, np.ndarray]

    @property
    def regression(self) -> Regression:
        """What the formula stands for; the same object for the same declaration."""
        return _regression(json.dumps(dict(self.declared)))

    @property
    def covariates(self) -> tuple[str, ...]:
        """The columns that new rows must have."""
        response = self.regression.response
        known = {response.name, response.beside}
        found = [name for name in columns_of(self.declared) if name not in known]
        needed = [response.beside] if response.kind == "trials" else []
        return (*(name for name in needed if name), *found)

    def rows(self, table: Any, *, with_response: bool = False) -> PreparedRows:
        """Columns of new rows, coded and prepared as records were.

        Raises
        ------
        InputError
            If a column is missing, or a row has a missing value or an unknown level.
        """
        names = columns_of(self.declared) if with_response else self.covariates
        coded = CodedTable(table, names, self.regression.declared.levels)
        values, present = coded.coded()
        steps = {
            name: steps
            for name, steps in steps_of(self.regression).items()
            if name in names
        }
        prepared = dict(values)
        with jax.enable_x64(True):
            for name, listed in steps.items():
                column = jnp.asarray(values[name], jnp.float64)
                for step in listed:
                    column = jax.vmap(step)(column)  # type: ignore[arg-type]
                prepared[name] = np.asarray(column)
        known = [
            np.isfinite(one).reshape(len(one), -1).all(1) for one in prepared.values()
        ]
        wrong = np.flatnonzero(~(present & np.logical_and.reduce(known or [present])))
        if len(wrong):
            raise InputError(
                f"{len(wrong):,} of the {len(coded):,} rows have a missing value, or a "
                f"level that was not declared; the first is row {wrong[0]}. Leave them "
                "out, or fill them in."
            )
        return PreparedRows(prepared, len(coded))

    def expected(self, rows: PreparedRows) -> np.ndarray:
        """Means of the response, by draw and row; probabilities where it has levels."""
        found: np.ndarray = self._each(_mean, rows)
        return found

    def responses(self, rows: PreparedRows, seed: int) -> dict[str, np.ndarray]:
        """Responses that are drawn, by draw and row, as a table has them."""
        found: dict[str, np.ndarray] = self._each(_response, rows, seed)
        return found

    def log_densities(self, rows: PreparedRows) -> np.ndarray:
        """Log-densities of the responses that rows have, by draw and row."""
        found: np.ndarray = self._each(_log_density, rows)
        return found

    def _each(self, what: "_What", rows: PreparedRows, seed: int = 0) -> Any:
        """A number of each draw and row, for some rows at a time."""
        draws = len(next(iter(self.draws.values())))
        each = max(1, _AT_ONCE // draws)
        with jax.enable_x64(True):
            shown = {name: jnp.asarray(values) for name, values in self.draws.items()}
            keys = jax.random.split(jax.random.key(seed), draws)
            made = []
            for start in range(0, rows.size, each):
                places = np.arange(start, min(start + each, rows.size))
                part = {name: column[places] for name, column in rows.columns.items()}
                found = _over_all(self.regression, what, shown, keys, part, places)
                made.append(jax.device_get(found))
        return jax.tree.map(lambda *parts: np.concatenate(parts, axis=1), *made)


_What = Callable[[Regression, Given, Any], Any]
"""Computes something from what a response depends on, and a JAX random key."""


def _mean(regression: Regression, at: Given, key: Any) -> Any:
    del key
    return regression.family.mean(at)


def _response(regression: Regression, at: Given, key: Any) -> Any:
    response = regression.response
    made = regression.respond(key, at)
    found = {response.name: response.original(made[response.name])}
    if response.kind == "positive" and response.beside is not None:
        found[response.beside] = made[response.beside]
    return found


def _log_density(regression: Regression, at: Given, key: Any) -> Any:
    """Of the response itself, not of what chains run on."""
    del key
    response = regression.response
    y = at.record[response.name]
    found = regression.family.log_density(y, at)
    if response.kind == "positive":
        ended = 1.0 if response.beside is None else at.beside
        return found - ended * y
    return found - np.log(response.unit)


@partial(jax.jit, static_argnums=(0, 1))
def _over_all(
    regression: Regression, what: _What, draws: Any, keys: Any, rows: Any, places: Any
) -> Any:
    def of_row(draw: Any, key: Any, row: Any, place: Any) -> Any:
        at = regression.given_shown(draw, row)
        return what(regression, at, jax.random.fold_in(key, place))

    over_rows = jax.vmap(of_row, (None, None, 0, 0))
    return jax.vmap(over_rows, (0, 0, None, None))(draws, keys, rows, places)


@lru_cache(maxsize=32)
def _regression(declared: str) -> Regression:
    return regression_of(json.loads(declared))


def declared_rows(
    predictor: Predictor, count: int, covariates: Any, seed: int
) -> dict[str, Any]:
    """Make covariates, as a table has them: of a public table, or within bounds.

    Parameters
    ----------
    predictor
        The formula.
    count
        How many rows.
    covariates
        A public table of which rows are drawn with replacement; None for covariates
        that are even within declared bounds and over declared levels.
    seed
        Makes them repeatable.
    """
    rng = np.random.default_rng(seed)
    if covariates is not None:
        columns = series_of(covariates)
        missing = [name for name in predictor.covariates if name not in columns]
        if missing:
            raise InputError(
                f"covariates lack {', '.join(map(repr, missing))}. Give a public table "
                f"with the columns {', '.join(predictor.covariates)}."
            )
        size = len(next(iter(columns.values())))
        chosen = rng.integers(0, size, count)
        return {
            name: np.asarray(columns[name].to_list(), object)[chosen].tolist()
            for name in predictor.covariates
        }
    declared = predictor.regression.declared
    found: dict[str, Any] = {}
    for name in predictor.covariates:
        if name in declared.levels:
            levels = declared.levels[name]
            values = levels.names if levels.is_text else levels.codes
            found[name] = [
                values[place] for place in rng.integers(0, len(values), count)
            ]
        else:
            low, high = declared.bounds[name]
            found[name] = rng.uniform(low, high, count)
            if name == predictor.regression.response.beside:
                found[name] = np.round(found[name])
    return found
