# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What the user states: a log-likelihood of one record, a prior, a place to start."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.errors import InputError, require_positive
from dpmcmc.model.coords import Coords, Dims, checked_coords, require_fitting
from dpmcmc.model.preparation import Preparation
from dpmcmc.model.python_function import PythonFunction
from dpmcmc.model.responses import Responses, check_moments, check_responses
from dpmcmc.model.statistics import Statistics, check_statistics
from dpmcmc.model.tracing import as_float, require_visible, shape_of_result, show_shapes

__all__ = ["Model", "check_model", "names_of"]

Theta = Any
"""The parameters: any pytree of arrays. Floats are continuous; whole numbers and
booleans are discrete."""

Record = Any
"""One record: any pytree of arrays."""

_FUNCTIONS = ("log_likelihood", "log_prior")
_OPTIONAL_FUNCTIONS = ("transform", "draw_prior", "simulate")


@dataclass(frozen=True, eq=False)
class Model:
    """A Bayesian model, stated one record at a time.

    Parameters
    ----------
    log_likelihood
        ``log_likelihood(theta, record)``: the log-likelihood of one record, as a
        scalar, in operations that JAX can trace (or a `PythonFunction`). It must
        read nothing but its arguments and public constants: a number computed from
        other records (a column's mean, say) and captured here would escape the
        privacy guarantee.
    log_prior
        ``log_prior(theta)``: the log-density of the prior, up to a constant.
    initial
        Where every chain starts, and the structure of θ: any pytree of numbers or
        arrays. Floats are continuous parameters; whole numbers and booleans are
        discrete ones, so write ``0.0`` for a real parameter. It must be public:
        chosen without looking at the records.
    transform
        ``transform(theta)``: what a draw is shown as, such as values on their own
        scale and quantities derived from them; θ itself unless given.
    draw_prior
        ``draw_prior(key)``: one draw of θ from the prior, from a JAX random key.
    simulate
        ``simulate(theta, key, record)``: one record of the model at θ, from a JAX
        random key, as the log-likelihood reads it (prepared). What the model does
        not explain, such as covariates, is copied from ``record``.
    lipschitz
        A bound L such that the log-likelihoods of any one record (prepared) at two
        points differ by at most L times the Euclidean distance of the points, over
        all coordinates. With a proposal of bounded moves, it makes clipping needless.
    preparation
        What is done to a record before the log-likelihood reads it, with public
        bounds; the statement says it.
    responses
        Which columns of a record (prepared) the model explains given the others, with
        all values that each can take, such as ``{"y": (0.0, 1.0)}``; with `Moments`
        where they cannot be listed; or with None. What norm-clipping is expected to cut
        off can then be made up for.
    statistics
        Its sufficient statistics, if it has any: what `SufficientStatistics` release.
    per
        What the log-likelihood is of: one "record"; or one "unit", such as a person
        with several records, if it is given a `dpmcmc.model.Unit`. Log-likelihoods of
        a record are added where `Records` are grouped into units.
    coords, dims
        Names for the places of parameters, as ArviZ and PyMC have them, such as
        ``coords={"predictor": ["age", "income"]}`` and ``dims={"coefficients":
        ["predictor"]}``. Parameters are named as in `Posterior.draws`; names are
        public.
    declared
        How the model was declared, in plain values, if it was by `dpmcmc.formula`: a
        posterior keeps it, so that predictions can be made from its file.
    """

    log_likelihood: Callable[[Theta, Record], Any]
    log_prior: Callable[[Theta], Any]
    initial: Theta
    transform: Callable[[Theta], Any] | None = None
    draw_prior: Callable[[jax.Array], Theta] | None = None
    simulate: Callable[[Theta, jax.Array, Record], Record] | None = None
    lipschitz: float | None = None
    preparation: Preparation | None = None
    responses: Responses | None = None
    statistics: Statistics | None = None
    per: Literal["record", "unit"] = "record"
    coords: Coords = field(default_factory=dict)
    dims: Dims = field(default_factory=dict)
    declared: Mapping[str, Any] | None = None
    fixed_order: bool = field(default=False, repr=False)
    """Whether what is computed of a record has the same bits on any number of devices
    and processes (`fixed_order`): set for records that are in parts."""
    units: "dict[int, Model]" = field(default_factory=dict, init=False, repr=False)
    """Models of units that were made of it, so that none is compiled anew."""

    def __post_init__(self) -> None:
        given = [name for name in _OPTIONAL_FUNCTIONS if getattr(self, name)]
        for name in (*_FUNCTIONS, *given):
            if not callable(getattr(self, name)):
                raise InputError(
                    f"{name} is a {type(getattr(self, name)).__name__}; it must be a "
                    "function. Pass the function itself, not its result."
                )
        if self.preparation is not None and type(self.preparation) is not Preparation:
            raise InputError(
                f"preparation is a {type(self.preparation).__name__}; it must be a "
                "dpmcmc.Preparation, and no class made from it: only its own steps are "
                "known to look at one record at a time."
            )
        if self.per not in ("record", "unit"):
            raise InputError(f"per is {self.per!r}; it must be 'record' or 'unit'.")
        if self.lipschitz is not None:
            require_positive("lipschitz", self.lipschitz, "Leave it out if unknown.")
        if self.responses is not None:
            check_responses(self.responses)
        if self.statistics is not None and type(self.statistics) is not Statistics:
            raise InputError(
                f"statistics is a {type(self.statistics).__name__}; it must be a "
                "dpmcmc.Statistics, or None."
            )
        leaves = jax.tree.leaves(self.initial)
        if not leaves:
            raise InputError(
                "initial holds no parameter; it must be a pytree of at least one "
                "number or array. Give the starting value of each parameter."
            )
        for leaf in leaves:
            if np.asarray(leaf).dtype.kind not in "fiub":
                raise InputError(
                    f"initial holds {leaf!r}; each parameter must be a real number or "
                    "an array of them."
                )
        coords, dims = checked_coords(self.coords, self.dims)
        object.__setattr__(self, "coords", coords)
        object.__setattr__(self, "dims", dims)

    def record_log_likelihood(self, theta: Theta, record: Record) -> Any:
        """The log-likelihood of one record as it came: prepared, then evaluated."""
        if self.preparation is not None:
            record = self.preparation(record)
        return self.log_likelihood(theta, record)


def names_of(shown: Any) -> list[str]:
    """Name each parameter of what a draw is shown as by its place."""
    return [
        jax.tree_util.keystr(path, simple=True, separator=".") or "theta"
        for path, _ in jax.tree_util.tree_leaves_with_path(shown)
    ]


def check_model(model: Model, theta: Theta, record: Record) -> None:
    """Refuse a model that cannot be run, from shapes alone.

    Parameters
    ----------
    model
        The model to check.
    theta
        The starting point, in the precision of the chain.
    record
        The shape and dtype of one record, as a pytree of ``ShapeDtypeStruct``.

    Raises
    ------
    InputError
        If the preparation, the log-likelihood, the moments of responses, the
        statistics, the prior or the transform fails to trace; if the log-likelihood or
        the prior is not a real scalar; if what reads a record leaves JAX by a callback
        or batches itself; if dims do not fit what is shown; or if the prior is not
        finite at the starting point.
    """
    if model.preparation is not None:
        record = model.preparation.check(record)
    likelihood = shape_of_result("log_likelihood", model.log_likelihood, theta, record)
    _require_scalar("log_likelihood(theta, record)", likelihood, (theta, record))
    if type(model.log_likelihood) is not PythonFunction:
        require_visible("log_likelihood", model.log_likelihood, theta, record)
    check_moments(model.responses, theta, record)
    if model.statistics is not None:
        check_statistics(model.statistics, theta, record)
    prior = shape_of_result("log_prior", model.log_prior, theta)
    _require_scalar("log_prior(theta)", prior, (theta,))
    shown = theta
    if model.transform is not None:
        shown = shape_of_result("transform", model.transform, theta)
    shapes = map(jnp.shape, jax.tree.leaves(shown))
    named = dict(zip(names_of(shown), shapes, strict=True))
    require_fitting(model.coords, model.dims, named)
    start = float(_log_prior_at(model, theta))
    if not np.isfinite(start):
        raise InputError(
            f"log_prior is {start} at the starting point; it must be finite. "
            "Choose an initial value inside the support of the prior."
        )


@partial(jax.jit, static_argnums=0)
def _log_prior_at(model: Model, theta: Theta) -> jax.Array:
    return as_float(model.log_prior(theta), jnp.float32)


def _require_scalar(call: str, result: Any, arguments: tuple[Any, ...]) -> None:
    leaves = jax.tree.leaves(result)
    is_scalar = len(leaves) == 1 and leaves[0].shape == ()
    if not is_scalar or leaves[0].dtype.kind not in "fiub":
        raise InputError(
            f"{call} returns {show_shapes(result)}; it must return one real number. "
            f"It was called with {', '.join(map(show_shapes, arguments))}: return "
            "the log-density of one record, summed over its parts."
        )
