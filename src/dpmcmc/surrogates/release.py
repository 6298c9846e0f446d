# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Releasing control variates: check what was given, add up, make ready for a chain."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from dpmcmc.errors import InputError, require_positive
from dpmcmc.influence import Listed, Residual, Taylor
from dpmcmc.model.model import Model, check_model
from dpmcmc.model.python_function import PythonFunction
from dpmcmc.model.relevance import told_coordinates
from dpmcmc.model.tracing import (
    as_float,
    is_double,
    require_visible,
    shape_of_result,
    shapes_of,
)
from dpmcmc.private import NoisySums, Records, Tape
from dpmcmc.surrogates.laplace import laplace
from dpmcmc.surrogates.settings import Plan
from dpmcmc.surrogates.spectrum import denoised, negative_definite
from dpmcmc.surrogates.surrogate import Surrogate

__all__ = ["check_release", "release"]

_MOST_RESPONSES = 64
"""Most joint responses of one record that are looked at."""


def check_release(model: Model, records: Records, plan: Plan, dtype: str) -> None:
    """Refuse a model that has no such control variates; no record is read.

    Raises
    ------
    InputError
        If θ has discrete parameters, the log-likelihood is in plain Python or cannot
        be differentiated twice in JAX, or the plan is for other records.
    """
    if len(records) != plan.records:
        raise InputError(
            f"there are {len(records)} records, but the control variates were planned "
            f"for {plan.records}. Plan them with the number of records there are."
        )
    with jax.enable_x64(is_double(dtype)):
        theta = _continuous(model, dtype)
        size = int(told_coordinates(model, records).sum())
        if size != plan.dimension:
            raise InputError(
                f"records tell of {size} coordinates of θ, but the control variates "
                f"were planned for {plan.dimension}. Plan them with that number."
            )
        record = records.shape_of_one(dtype)
        check_model(model, theta, record)
        _require_derivatives(model, theta, record)


def release(
    model: Model,
    records: Records,
    plan: Plan,
    tape: Tape,
    *,
    centre: Any,
    covariance: np.ndarray,
    tempered: float | None = None,
    dtype: str = "float32",
    devices: Sequence[jax.Device] | None = None,
    released: np.ndarray | None = None,
    done: Callable[[int], object] | None = None,
) -> Surrogate:
    """Release the sums of gradients and Hessians, and make a surrogate of them.

    With a fresh tape the result is private, at the cost of ``plan.event``. With a
    seeded one it can be made again, and is not private.

    Parameters
    ----------
    model, records
        The model, which must be smooth in θ; the sealed records.
    plan
        The bounds and the noise, from `ControlVariates.plan`.
    tape
        The randomness; a secret tape serves this release alone.
    centre
        Where to expand, like θ: public, or released before.
    covariance
        About the covariance of the posterior, over the coordinates in the order of
        ``jax.flatten_util.ravel_pytree``: public, or released before.
    tempered
        How many records the likelihood counts for, N₀; all unless given.
    dtype
        The precision of the log-likelihood, "float32" or "float64".
    devices
        The first of them computes; JAX's first unless given.
    released
        The sum that an earlier call released, `Surrogate.total`; then no record is
        read and nothing new released.
    done
        Is called now and then with how many more records were added, if given; the
        numbers follow from shapes alone.

    Raises
    ------
    InputError
        If something given cannot be used; nothing was read for this release, though
        something may have been for what came before, such as centre and covariance.

    Guarantee
    ---------
    What is returned is a function of what one call of `NoisySums.release` over all
    records returned, with the plan's noise, and of public numbers; so it costs
    ``plan.event``, if the tape is fresh.
    """
    check_release(model, records, plan, dtype)
    power = len(records) if tempered is None else tempered
    power = require_positive("tempered", power, "Give N₀, or None.")
    told = told_coordinates(model, records)
    taylor, rest = _taylor(model, plan, centre, covariance, power, dtype, told)
    tempering = power / plan.records
    if released is not None:
        return _surrogate(model, plan, taylor, released, tempering, dtype, rest)
    sums = NoisySums(
        replace(model, log_likelihood=_VectorOf(taylor, model.log_likelihood)),
        records,
        _ITSELF,
        tape,
        batch=plan.records,
        noise_multiplier=plan.noise_multiplier,
        dtype=dtype,
        device=(devices or jax.devices())[0],
    )
    total = sums.release((), done)
    return _surrogate(model, plan, taylor, total, tempering, dtype, rest)


@dataclass(frozen=True, eq=False)
class _VectorOf:
    """Stands where a log-likelihood stands, and says the vector of a record."""

    taylor: Taylor
    log_likelihood: Callable[[Any, Any], Any]

    def __call__(self, _: Any, record: Any) -> jax.Array:
        return self.taylor.released(self.log_likelihood, record)


class _Itself:
    """What each record is asked: what stands for its log-likelihood, as it is."""

    def __call__(
        self, log_likelihood: Callable[[Any], jax.Array], public: Any
    ) -> jax.Array:
        return log_likelihood(public)


_ITSELF = _Itself()


def _surrogate(
    model: Model,
    plan: Plan,
    taylor: Taylor,
    total: np.ndarray,
    tempering: float,
    dtype: str,
    rest: np.ndarray,
) -> Surrogate:
    """Read the released sum, from public numbers alone.

    ``rest`` has the columns of the whitening matrix for the coordinates that no
    record tells of: there the released quadratic is exactly zero.
    """
    size, (rows, columns) = taylor.size, taylor.entries()
    factor, silent = np.hstack([taylor.factor, rest]), rest.shape[1]
    multiples = taylor.multiples() / taylor.hessian_scale
    hessian = np.zeros((size, size))
    hessian[rows, columns] = hessian[columns, rows] = total[size:] / multiples
    hessian_noise = plan.noise_multiplier * taylor.hessian_scale
    hessian = negative_definite(denoised(hessian, hessian_noise), hessian_noise)
    kept = np.concatenate([total[:size], hessian[rows, columns] * multiples])
    gradient = np.pad(total[:size] * taylor.gradient_scale, (0, silent))
    hessian = np.pad(hessian, (0, silent))

    def log_prior(v: jax.Array) -> jax.Array:
        flat = jnp.asarray(taylor.centre) + jnp.asarray(factor) @ v
        return as_float(model.log_prior(taylor.unravel(flat.astype(dtype))), float)

    with jax.enable_x64(True):
        top, precision = laplace(
            tempering * gradient, tempering * hessian, log_prior, size
        )
    with jax.enable_x64(is_double(dtype)):
        flat = taylor.centre + factor @ top
        mean = taylor.unravel(jnp.asarray(flat, dtype))
    return Surrogate(
        total=total,
        centre=taylor.centre,
        factor=factor,
        gradient=gradient,
        hessian=hessian,
        gradient_noise=plan.noise_multiplier * taylor.gradient_scale,
        hessian_noise=hessian_noise,
        tempering=tempering,
        top=top,
        precision=precision,
        told=size,
        influence=Residual(taylor, kept, tempering),
        mean=mean,
        event=plan.event,
        description=plan.description,
    )


def _taylor(
    model: Model,
    plan: Plan,
    centre: Any,
    covariance: Any,
    power: float,
    dtype: str,
    told: np.ndarray,
) -> tuple[Taylor, np.ndarray]:
    """The expansion at the centre, in coordinates in which a record tells about 1.

    They are of what records tell of; the second result has the columns of the
    whitening matrix for the rest of θ.
    """
    with jax.enable_x64(is_double(dtype)):
        start = jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype), model.initial)
        flat, unravel = ravel_pytree(start)
        point = jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype), centre)
        if shapes_of(point) != shapes_of(start):
            raise InputError(
                f"centre is {centre!r}; it must be a point like θ, of the structure "
                "and shapes of the model's initial point."
            )
        at = np.asarray(ravel_pytree(point)[0], np.float64)
    if not np.all(np.isfinite(at)):
        raise InputError(f"centre is {centre!r}; it must be finite.")
    given = np.asarray(covariance, np.float64)
    try:
        if given.shape != (flat.size, flat.size):
            raise ValueError
        factor, rest = (_columns(power * given, part) for part in (told, ~told))
    except (ValueError, np.linalg.LinAlgError):
        raise InputError(
            f"covariance is of shape {given.shape}; it must be a positive definite "
            f"matrix of shape {(flat.size, flat.size)}, about that of the posterior."
        ) from None
    bounds = plan.gradient_bound, plan.hessian_bound
    among = _responses(model) if plan.settings.centred else None
    part = plan.settings.hessian_part
    return Taylor(at, factor, *bounds, unravel, among, part), rest


def _columns(matrix: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Cholesky's factor of some rows and columns, with zeros in all other rows."""
    columns = np.zeros((len(matrix), int(chosen.sum())))
    columns[chosen] = np.linalg.cholesky(matrix[np.ix_(chosen, chosen)])
    return columns


def _responses(model: Model) -> Listed | None:
    """All responses of a record, if the model lists them and they are not too many."""
    listed = model.responses
    if listed is None or any(values is None for values in listed.values()):
        return None
    values = tuple(tuple(map(float, given)) for given in listed.values() if given)
    few = math.prod(map(len, values)) <= _MOST_RESPONSES
    return Listed(tuple(listed), values) if few else None


def _continuous(model: Model, dtype: str) -> Any:
    """The model's initial θ, if all of it is continuous."""
    for path, leaf in jax.tree_util.tree_leaves_with_path(model.initial):
        if np.asarray(leaf).dtype.kind != "f":
            name = jax.tree_util.keystr(path, simple=True, separator=".") or "theta"
            raise InputError(
                f"parameter {name} is {leaf!r}, which is discrete; control variates "
                "are for continuous parameters alone. Write 0.0 for a real number, or "
                "sample without control variates."
            )
    return jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype), model.initial)


def _require_derivatives(model: Model, theta: Any, record: Any) -> None:
    if type(model.log_likelihood) is PythonFunction:
        raise InputError(
            "log_likelihood is a PythonFunction, which has no gradient; control "
            "variates need one. Write it in operations of JAX, or sample without "
            "control variates."
        )

    def scalar(theta: Any, record: Any) -> jax.Array:
        return as_float(model.record_log_likelihood(theta, record), float)

    # Records are differentiated both ways: all directions at once, or along a move.
    for second in (jax.jacfwd(jax.grad(scalar)), jax.jacfwd(jax.jacfwd(scalar))):
        shape_of_result("the Hessian of log_likelihood", second, theta, record)
        require_visible("the Hessian of log_likelihood", second, theta, record)
