# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Tables of cells: the sufficient statistics of records with few possible values.

If every column that a log-likelihood reads has a few public values, so has a record.
How many records have which values is all that a likelihood can know: the counts of the
cells of a table. Which values a column can have is read off declarations, types and the
model; never off the records.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from dpmcmc.model.informed import columns_read
from dpmcmc.model.margins import Margin, choose_margins
from dpmcmc.model.model import Model
from dpmcmc.model.noisy_counts import log_density_of_score
from dpmcmc.model.preparation import Clamp, OneHot
from dpmcmc.model.python_function import PythonFunction
from dpmcmc.model.schema import DeclaredColumn, Schema
from dpmcmc.model.statistics import NoisyTotal, Statistics
from dpmcmc.model.tracing import as_float, show_shapes

__all__ = ["with_cells"]

_MOST = 4096
"""The most cells: the log-likelihood is evaluated in each, at every step."""

_KEPT: WeakKeyDictionary[Model, tuple[Any, Model]] = WeakKeyDictionary()
"""Models with cells, so that none is compiled anew."""


def with_cells(model: Model, schema: Schema, one_record: Any) -> Model:
    """The model with cells as its statistics, if its records have few values.

    Columns have few values if they are declared with levels, as booleans, or as
    integers with bounds; hold booleans by their type; are one-hot coded; or are
    responses whose values the model lists. A model that states statistics, or that has
    a discrete parameter, stays as it is.

    Parameters
    ----------
    model
        The model of one record.
    schema
        What is declared of the records' columns.
    one_record
        Shape and dtype of one record.
    """
    kinds = {np.asarray(leaf).dtype.kind for leaf in jax.tree.leaves(model.initial)}
    has_columns = isinstance(one_record, Mapping) and all(
        hasattr(leaf, "shape") for leaf in one_record.values()
    )
    is_traced = type(model.log_likelihood) is not PythonFunction
    is_plain = model.per == "record" and model.statistics is None and is_traced
    if not (has_columns and is_plain and kinds == {"f"}):
        return model
    known = schema, show_shapes(dict(one_record))
    if model not in _KEPT or _KEPT[model][0] != known:
        table = _table(model, schema, one_record)
        if table is None:
            return model
        _KEPT[model] = known, replace(model, statistics=table.statistics)
    return _KEPT[model][1]


@dataclass(frozen=True, eq=False)
class _Table:
    """All values that a prepared record can have.

    Attributes
    ----------
    values
        The values of each column, prepared; responses last.
    records
        The prepared record of each cell; the values of the last column vary fastest.
    responses
        How many values the responses have together; None if they are not known.
    margins
        Margins that are counted, too.
    """

    values: Mapping[str, np.ndarray]
    records: Any
    responses: int | None
    log_likelihood: Callable[[Any, Any], Any]
    margins: tuple[Margin, ...] = ()

    @property
    def statistics(self) -> Statistics:
        """The counts of the cells, as statistics."""
        return Statistics(
            self.cell_of,
            self.log_likelihoods,
            1.0,
            is_exact=True,
            log_density=None if self.responses is None else self.log_density,
            nearest=lambda total, *_: np.maximum(total, 0),
            words=f"all values of {', '.join(self.values)}",
            cells=math.prod(map(len, self.values.values())),
            margins=self.margins,
        )

    def cell_of(self, record: Any) -> jax.Array:
        """The number of a prepared record's cell; −1 if it is in none."""
        cell, is_in = jnp.zeros((), jnp.int32), jnp.asarray(True)
        for name, values in self.values.items():
            own = jnp.asarray(record[name])
            same = (own == jnp.asarray(values, own.dtype)).reshape(len(values), -1)
            hit = jnp.all(same, axis=1)
            cell = cell * len(values) + jnp.argmax(hit).astype(jnp.int32)
            is_in &= jnp.any(hit)
        return jnp.where(is_in, cell, -1)

    def log_likelihoods(self, theta: Any) -> jax.Array:
        """The log-likelihood of a record in each cell."""
        kind = jnp.result_type(float)
        records = jax.tree.map(
            lambda leaf: jnp.asarray(leaf, kind if leaf.dtype.kind == "f" else None),
            self.records,
        )

        def one(record: Any) -> jax.Array:
            return as_float(self.log_likelihood(theta, record), kind)

        return jnp.asarray(jax.vmap(one)(records))

    def log_density(self, theta: Any, noisy: NoisyTotal) -> jax.Array:
        """What noisy counts say of θ."""
        point, unravel = ravel_pytree(theta)

        def at(point: jax.Array) -> jax.Array:
            return jnp.reshape(
                self.log_likelihoods(unravel(point)), (-1, self.responses)
            )

        counts = jnp.reshape(noisy.total, (-1, self.responses))
        gradients = jax.jacfwd(at)(point)
        noise = noisy.noise_of(jnp.reshape(gradients, (-1, len(point))))
        return log_density_of_score(counts, at(point), gradients, noise)

    def with_margins(
        self, columns: Sequence[tuple[str, int]], responses: str, start: Any
    ) -> "_Table":
        """The table, with the margins that are worth their part of the budget.

        Parameters
        ----------
        columns
            Name and number of values of each covariate.
        responses
            The name of the responses.
        start
            Where the chain starts.
        """
        if self.responses is None:
            return self
        with jax.enable_x64(True):
            floats = jax.tree.map(lambda leaf: jnp.asarray(leaf, float), start)
            point, unravel = ravel_pytree(floats)
        margins = choose_margins(
            columns,
            (responses, self.responses),
            lambda point: self.log_likelihoods(unravel(point)),
            np.asarray(point),
        )
        return replace(self, margins=margins)


def _table(
    model: Model, schema: Schema, one_record: Mapping[str, Any]
) -> _Table | None:
    """The table of a model, if every column that it reads has few values."""
    found = {
        name: _values(name, leaf, model, schema) for name, leaf in one_record.items()
    }
    if all(values is None for values in found.values()):
        return None
    read = columns_read(model, one_record)
    stated = [name for name in read if name in (model.responses or ())]
    order = [name for name in read if name not in stated] + stated
    listed = {name: values for name in order if (values := found[name]) is not None}
    count = math.prod(map(len, listed.values()))
    if len(listed) < len(order) or not 2 <= count <= _MOST:
        return None

    def prepared(values: Mapping[str, np.ndarray]) -> Any:
        """Records with these values, and zeros in columns that are not read."""
        rows = len(next(iter(values.values())))
        raw = {
            name: values.get(name, np.zeros((rows, *leaf.shape))).astype(leaf.dtype)
            for name, leaf in one_record.items()
        }
        if model.preparation is None:
            return raw
        return jax.device_get(jax.jit(jax.vmap(model.preparation))(raw))

    def each(name: str) -> np.ndarray:
        """The values of a column, prepared: no other column has a part in them."""
        rows = len(listed[name])
        others = {n: np.repeat(v[:1], rows, axis=0) for n, v in listed.items()}
        return np.asarray(prepared({**others, name: listed[name]})[name])

    places = np.indices([len(values) for values in listed.values()])
    cells = {
        name: values[place.ravel()]
        for (name, values), place in zip(listed.items(), places, strict=True)
    }
    table = _Table(
        {name: each(name) for name in listed},
        {name: np.asarray(leaf) for name, leaf in prepared(cells).items()},
        math.prod(len(listed[name]) for name in stated) if stated else None,
        model.log_likelihood,
    )
    columns = [
        part
        for name, values in listed.items()
        if name not in stated
        for part in _parts(name, values)
    ]
    return table.with_margins(columns, " and ".join(stated), model.initial)


def _parts(name: str, values: np.ndarray) -> list[tuple[str, int]]:
    """Name and number of values of a column, or of each entry of one of vectors."""
    if values.ndim == 1:
        return [(name, len(values))]
    return [(f"{name}{list(place)}", 2) for place in np.ndindex(values.shape[1:])]


def _values(name: str, leaf: Any, model: Model, schema: Schema) -> np.ndarray | None:
    """All values of a column as records have it, if they are few and public.

    Only steps that leave few values as they are may prepare it: a value is looked for
    among the prepared ones.
    """
    steps = () if model.preparation is None else model.preparation.steps_of(name)
    clamps = [step for step in steps if type(step) is Clamp]
    codes = [step for step in steps if type(step) is OneHot]
    if len(clamps) + len(codes) < len(steps) or len(codes) > 1:
        return None
    listed = _declared(schema.columns.get(name)) or None
    if listed is None and leaf.dtype == bool:
        pairs = itertools.product((False, True), repeat=math.prod(leaf.shape))
        if 2 ** math.prod(leaf.shape) > _MOST:
            return None
        return np.array(list(pairs)).reshape(-1, *leaf.shape)
    if listed is None and codes:
        listed = tuple(codes[0].levels)  # type: ignore[arg-type]
    if listed is None:
        stated = (model.responses or {}).get(name)
        listed = stated if isinstance(stated, Sequence) else None
    if listed is None or leaf.shape != () or len(listed) > _MOST:
        return None
    values = np.asarray(listed)
    kept = values.astype(leaf.dtype)
    return kept if np.array_equal(kept, values) else None


def _declared(column: DeclaredColumn | None) -> Sequence[float] | None:
    """The values that a declared column enters with, if they are few."""
    if column is None or column.if_missing is not None:
        return None
    if column.type == "boolean":
        return (0, 1)
    if column.levels is not None:
        return range(len(column.levels))
    if column.type == "integer" and column.bounds is not None:
        low, high = column.bounds
        return range(math.ceil(low), math.floor(high) + 1)
    return None
