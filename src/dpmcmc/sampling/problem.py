# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What is to be sampled: a model, sealed records, and how they are computed with.

Everything here is settled from shapes alone; no record is read.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal
from weakref import WeakKeyDictionary

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc import processes
from dpmcmc.adapters.libraries import adapted, is_of_library
from dpmcmc.errors import InputError
from dpmcmc.model.cells import with_cells
from dpmcmc.model.fixed_order import fixed_model
from dpmcmc.model.model import Model, check_model, names_of
from dpmcmc.model.schema import Schema
from dpmcmc.model.tracing import is_double, shapes_of, show_shapes
from dpmcmc.model.units import Unit, unit_model
from dpmcmc.private import Records
from dpmcmc.sampling.compiled import kept_programs
from dpmcmc.sampling.on_host import host, on_host

__all__ = ["Precision", "Problem", "make_problem"]

Precision = Literal["float32", "float64"]

_PROVEN_PLATFORMS = frozenset({"cpu", "gpu", "cuda", "rocm"})
"""Where exp and the normal cdf are as accurate as the proofs ask
(docs/proofs/distributions)."""

PRIOR = "prior"
"""Start each chain at a draw from the prior."""


@dataclass(frozen=True, eq=False)
class Problem:
    """A model and records that were checked against each other.

    Attributes
    ----------
    model, records
        The model, which starts where it was asked to; the sealed records.
    initial
        The starting point in the precision of the chain.
    dtype
        The precision of θ and of log-likelihoods.
    devices
        Where the records are spread.
    from_prior
        Whether chains start at draws from the prior.
    prepared
        What is done to each record before the model reads it, in words.
    """

    model: Model
    records: Records
    initial: Any
    dtype: Precision
    devices: tuple[jax.Device, ...]
    from_prior: bool = False
    prepared: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """How many records there are, or units if they are grouped: N."""
        return len(self.records)

    @property
    def counts(self) -> str:
        """What N counts, for sentences."""
        return "records" if self.records.unit is None else "units"

    @property
    def is_shared(self) -> bool:
        """Whether several processes sample it together."""
        return self.records.sizes is not None and processes.together() > 1

    @property
    def public_device(self) -> jax.Device:
        """Where chains run that read no record: the host, if JAX has it."""
        own = processes.own()
        return host() or next(one for one in self.devices if one.process_index == own)

    @property
    def coordinates(self) -> int:
        """How many coordinates θ has."""
        return sum(int(np.size(leaf)) for leaf in jax.tree.leaves(self.initial))

    @property
    def one_record(self) -> Any:
        """Shape and dtype of one record, or of one `Unit`."""
        return self.records.shape_of_one(self.dtype)

    def unravel(self, coordinates: np.ndarray, dtype: Any = None) -> Any:
        """The point of θ with the given coordinates.

        In the precision of the chain unless all are to have another dtype.
        """
        leaves, structure = jax.tree.flatten(self.initial)
        ends = np.cumsum([leaf.size for leaf in leaves])[:-1]
        parts = np.split(np.asarray(coordinates, dtype or self.dtype), ends)
        made = [
            part.reshape(leaf.shape).astype(dtype or leaf.dtype)
            for part, leaf in zip(parts, leaves, strict=True)
        ]
        return jax.tree.unflatten(structure, made)

    def ravel(self, point: Any) -> np.ndarray:
        """The coordinates of a point of θ, in float64."""
        leaves = [np.ravel(leaf) for leaf in jax.tree.leaves(point)]
        return np.concatenate(leaves).astype(np.float64)


@on_host()
@kept_programs()
def make_problem(
    model: Model | Callable[..., Any],
    records: Any,
    *,
    start: Any,
    precision: Precision | None,
    devices: Sequence[jax.Device] | None,
) -> Problem:
    """Check what was given, from shapes alone; no record is read.

    Parameters
    ----------
    model
        A `Model`; a NumPyro or PyMC model that takes the columns of the records by
        name; or an object that makes one by ``for_records`` (and ``for_units``), as
        `NumPyro`.
    records
        `Records`, or what they are made of.
    start
        A point, "prior", or None for the model's own point.
    precision, devices
        As in `sample`.

    Raises
    ------
    InputError
        If these do not fit each other.
    """
    sealed = records
    if not isinstance(records, Records):
        sealed = Records(_read_by(model, records))
    dtype = _precision(precision)
    from_prior = isinstance(start, str)
    if from_prior and start != PRIOR:
        raise InputError(
            f"start is {start!r}; it must be 'prior' or a point like θ. Leave it out "
            "for the model's own point."
        )
    point = None if from_prior else start
    stated = _as_model(model, sealed, dtype, point)
    made = _for_units(_declared(stated, sealed.schema), sealed)
    if sealed.schema.size is None:
        made = with_cells(made, sealed.schema, sealed.shape_of_one(dtype))
    elif made.statistics is not None:
        made = replace(made, statistics=None)  # they need the number of records
    if from_prior and made.draw_prior is None:
        raise InputError(
            "start is 'prior', but the model has no draw_prior. Give the model one, or "
            "start at a point."
        )
    with jax.enable_x64(is_double(dtype)):
        initial = _initial(made, dtype)
        check_model(made, initial, sealed.shape_of_one(dtype))
        _require_compilable(made, initial, sealed.shape_of_one(dtype), dtype)
        shown = initial
        if made.transform is not None:
            shown = jax.eval_shape(made.transform, initial)
        _check_names(shown)
        if from_prior:
            _check_prior(made, initial)
    words = sealed.schema.describe(stated.preparation)
    if sealed.sizes is not None:
        made = fixed_model(made)
    chosen = _devices(devices, sealed)
    return Problem(made, sealed, initial, dtype, chosen, from_prior, words)


_DECLARED: WeakKeyDictionary[Model, tuple[Schema, Model]] = WeakKeyDictionary()
"""Models as schemas complete them: another model would be compiled anew."""


def _declared(model: Model, schema: Schema) -> Model:
    """The model of records as a schema declares them."""
    if not schema.columns:
        return model
    if model not in _DECLARED or _DECLARED[model][0] != schema:
        _DECLARED[model] = schema, schema.applied_to(model)
    return _DECLARED[model][1]


def _read_by(model: Any, table: Any) -> Any:
    """A table as a model declares that it reads it: texts of levels become codes."""
    declared = getattr(model, "declared", None)
    if declared is None or hasattr(type(table), "read_ids"):
        return table
    from dpmcmc.models.formulas import coded_table  # noqa: PLC0415 - optional

    return coded_table(declared, table)


def _for_units(model: Model, records: Records) -> Model:
    """The model of what is protected: a record, or a unit of records."""
    if records.unit is not None:
        return unit_model(model, records.most)
    if model.per == "unit":
        raise InputError(
            "the log-likelihood is of one unit, but the records are not grouped. Give "
            "dpmcmc.Records(table, unit='person', most=5), with the column of ids."
        )
    return model


def _require_compilable(model: Model, initial: Any, record: Any, dtype: str) -> None:
    """Refuse, before anything is spent, what JAX can trace but not compile."""
    both = jax.jit(
        lambda theta, record: (
            model.record_log_likelihood(theta, record),
            model.log_prior(theta),
        )
    )
    try:
        both.lower(initial, record)
    except Exception as error:
        raise InputError(
            f"the model cannot be compiled in {dtype}. If it closes over NumPy arrays, "
            "JAX keeps them as it first saw them: a process that has run the model in "
            "another precision cannot run it in this one. Make them jax.numpy arrays "
            "where they are used, or start a new process."
        ) from error


def _as_model(model: Any, records: Records, dtype: Precision, start: Any) -> Model:
    """The model that was given, or that another library's is turned into."""
    if isinstance(model, Model):
        if start is None or start is model.initial:  # else it is compiled anew
            return model
        _require_like(start, model.initial)
        return replace(model, initial=start)
    makes_model = hasattr(model, "for_records") and not isinstance(model, type)
    if not makes_model and not is_of_library(model):
        raise InputError(
            f"model is a {type(model).__name__}; it must be a dpmcmc.Model, or a "
            "NumPyro or PyMC model. Make one from a log-likelihood of one record, a "
            "prior, and a place to start."
        )
    if start is not None and not isinstance(start, Mapping):
        raise InputError(
            f"start is {show_shapes(start)}; for a NumPyro or PyMC model it must be "
            "a dict of values of its parameters, by name, or 'prior'."
        )
    if not makes_model:
        model = adapted(model)
    with jax.enable_x64(is_double(dtype)):
        one = records.shape_of_one(dtype)
        if isinstance(one, Unit):
            one = jax.tree.map(
                lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), one.rows
            )
        made: Model
        if records.unit is not None and hasattr(model, "for_units"):
            made = model.for_units(len(records), one, records.unit, start)
        else:
            made = model.for_records(len(records), one, start)
    return made


def _require_like(start: Any, initial: Any) -> None:
    try:
        is_like = shapes_of(start) == shapes_of(initial)
    except TypeError:  # a leaf that is no array
        is_like = False
    if not is_like:
        raise InputError(
            f"start is {show_shapes(start)}, but θ is {show_shapes(initial)}; it must "
            "be a point like θ, or 'prior'."
        )


def _precision(precision: Precision | None) -> Precision:
    """The precision that was asked for, or that JAX is set to."""
    if precision is None:
        return "float64" if is_double(jnp.result_type(float)) else "float32"
    if precision not in ("float32", "float64"):
        raise InputError(
            f"precision is {precision!r}; it must be 'float32' or 'float64'. Give "
            "None to follow JAX's setting."
        )
    return precision


def _initial(model: Model, dtype: str) -> Any:
    """The starting point in the chain's precision, if it can be a point at all."""
    whole = np.dtype("int64" if dtype == "float64" else "int32")
    kinds = {"f": np.dtype(dtype), "i": whole, "u": whole, "b": np.dtype(bool)}
    with np.errstate(over="ignore"):
        initial = jax.tree.map(
            lambda leaf: np.asarray(leaf, kinds[np.asarray(leaf).dtype.kind]),
            model.initial,
        )
    for path, leaf in jax.tree_util.tree_leaves_with_path(initial):
        if leaf.size == 0 or not np.all(np.isfinite(leaf)):
            wrong = "not finite" if leaf.size else "empty"
            raise InputError(
                f"initial{jax.tree_util.keystr(path)} is {wrong} in {dtype}; it must "
                "hold finite numbers, at least one. Choose another place to start."
            )
    return initial


def _check_names(shown: Any) -> None:
    """Refuse names of parameters that ArviZ cannot take."""
    names = names_of(shown)
    axes = {
        f"{name}_dim_{axis}"
        for name, leaf in zip(names, jax.tree.leaves(shown), strict=True)
        for axis in range(len(leaf.shape))
    }
    for name in names:
        taken = name in {"chain", "draw", *axes} or names.count(name) > 1
        if taken or "/" in name:
            raise InputError(
                f"a parameter of θ is named {name!r}; names must differ from each "
                "other, from 'chain', 'draw' and ArviZ's names of axes, such as "
                "'x_dim_0', and hold no '/'. Rename it."
            )


def _check_prior(model: Model, initial: Any) -> None:
    assert model.draw_prior is not None
    drawn = jax.eval_shape(model.draw_prior, jax.random.key(0))
    if shapes_of(drawn) != shapes_of(initial):
        raise InputError(
            f"draw_prior gives {show_shapes(drawn)}, but θ is {show_shapes(initial)}; "
            "they must be alike."
        )


def _devices(
    devices: Sequence[jax.Device] | None, records: Records
) -> tuple[jax.Device, ...]:
    is_shared = records.sizes is not None and processes.together() > 1
    if is_shared and devices is not None:
        raise InputError(
            "devices are given, but the records are in parts of several processes, "
            "which are on all their devices. Leave devices out."
        )
    chosen: Any = jax.local_devices() if devices is None else devices
    if is_shared:
        chosen = sorted(jax.devices(), key=lambda one: (one.process_index, one.id))
    are_devices = isinstance(chosen, Sequence) and all(
        isinstance(device, jax.Device) for device in chosen
    )
    if not are_devices or not chosen or len(set(chosen)) < len(chosen):
        raise InputError(
            f"devices is {devices!r}; it must be a sequence of different JAX devices, "
            "such as jax.local_devices(). Give None for all local devices."
        )
    unproven = {device.platform for device in chosen} - _PROVEN_PLATFORMS
    if unproven:
        raise InputError(
            f"devices are of the platform {', '.join(sorted(unproven))}; the guarantee "
            "rests on float64 as CPUs and GPUs compute it. Give devices of one of "
            f"{', '.join(sorted(_PROVEN_PLATFORMS))}, such as jax.devices('cpu')."
        )
    return tuple(chosen)
