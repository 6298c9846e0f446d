# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Clipping as a user chooses it: how a record's ratio is bounded, and what is lost.

Every choice yields one number of each record in [−B, B], so that all cost the same.
They differ in how the sum of these numbers differs from the sum of the ratios: plain
clipping is biased wherever it reaches skewed ratios; the others are unbiased where the
model is right.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.errors import InputError, require_count
from dpmcmc.influence import Centred, Drawn, Listed, Restored, Shifted, Shrunk
from dpmcmc.influence.expected_loss import expected_loss, require_whole_records
from dpmcmc.model.model import Model
from dpmcmc.model.tracing import require_visible, shape_of_result
from dpmcmc.private import PLAIN, Grid, Influence

__all__ = [
    "Clipping",
    "ConditionalCentring",
    "ModelCorrection",
    "PlainClipping",
    "Shrinking",
]

_MOST_RESPONSES = 64
"""Most joint responses of one record that are evaluated at every step."""

_LEAST_SIMULATED, _MOST_SIMULATED = 2**12, 2**18


RATIO = "each record's ratio"
"""What is bounded, in the words of a statement, where there is no surrogate."""


class Clipping(Protocol):
    """A user's choice of how ratios are bounded."""

    def influence(
        self,
        model: Model,
        one_record: Any,
        grid: Grid,
        records: int,
        base: Influence = PLAIN,
    ) -> Influence:
        """The number of a record that enters a decision; `InputError` if it cannot.

        ``base`` makes the number that is bounded: the log-likelihood ratio, or what
        of it a released surrogate misses.
        """
        ...

    def describe(self, number: str = RATIO) -> str:
        """How so called numbers are bounded, in words, for the statement."""
        ...


@dataclass(frozen=True)
class PlainClipping:
    """The ratio, clipped."""

    def influence(
        self,
        model: Model,
        one_record: Any,
        grid: Grid,
        records: int,
        base: Influence = PLAIN,
    ) -> Influence:
        """The number as it is."""
        del model, one_record, grid, records
        return base

    def describe(self, number: str = RATIO) -> str:
        """Clipped."""
        return f"{number} is clipped"


@dataclass(frozen=True)
class ModelCorrection:
    """The ratio, clipped, and the model's own expectation of what the clip took.

    For models that simulate whole records. At each step, records are simulated half-way
    between the two points, always with the same random numbers; what the clip takes
    from them is added to Δ, scaled up to the number of records. The random numbers are
    chosen so that most of the records are of the kind that a clip touches.

    Parameters
    ----------
    simulated
        How many records are simulated at each step; a sixteenth of the number of
        records unless given, but at least 4,096 and at most 262,144.
    seed
        Which random numbers; public.
    """

    simulated: int | None = None
    seed: int = 0

    def influence(
        self,
        model: Model,
        one_record: Any,
        grid: Grid,
        records: int,
        base: Influence = PLAIN,
    ) -> Influence:
        """Plain ratios, with the correction in the public part of Δ."""
        count = self.simulated
        if count is None:
            count = int(np.clip(records // 16, _LEAST_SIMULATED, _MOST_SIMULATED))
        count = require_count("simulated", count, "Leave it out for a fitting number.")
        seed = require_count("seed", self.seed, "Any whole number will do.", least=0)
        _require_simulator(model, "ModelCorrection")
        _require_continuous(model)
        shapes = _prepared(model, one_record)
        with jax.enable_x64(_is_wide(shapes)):
            require_whole_records(model, shapes)
            part = expected_loss(model, shapes, grid, records, count, seed, base)
            return Shifted(part, base)

    def describe(self, number: str = RATIO) -> str:
        """Clipped, with a correction on simulated records."""
        return (
            f"{number} is clipped, and what the model expects the clip to take is "
            "added, from simulated records"
        )


@dataclass(frozen=True)
class ConditionalCentring:
    """The ratio, clipped about its mean given the covariates; no mean is lost.

    For models that say which columns are responses. If their values can be listed, the
    mean is exact; otherwise it is over responses drawn once for each record, at the
    model's initial point, which should be near the posterior, and a step evaluates each
    record as often as there are responses.

    Parameters
    ----------
    simulated
        How many responses are drawn for each record, if they cannot be listed.
    seed
        Which random numbers draw them; public.
    """

    simulated: int = 8
    seed: int = 0

    def influence(
        self,
        model: Model,
        one_record: Any,
        grid: Grid,
        records: int,
        base: Influence = PLAIN,
    ) -> Influence:
        """Ratios centred over all responses, or over some."""
        del records
        shapes = _prepared(model, one_record)
        names = _response_names(model, shapes, "ConditionalCentring")
        listed = _listed(model, shapes)
        if listed is not None:
            return Centred(listed, _bound(grid), base)
        most = _MOST_RESPONSES
        count = require_count("simulated", self.simulated, "8 are mostly enough.")
        seed = require_count("seed", self.seed, "Any whole number will do.", least=0)
        if count > most:
            raise InputError(
                f"simulated is {count}; it must be at most {most}, since every record "
                "is evaluated with each of them at every step. Choose fewer."
            )
        _require_simulator(model, "ConditionalCentring")
        _require_visible_simulator(model, shapes)
        if set(shapes) == set(names):
            raise InputError(
                "the model explains every column of a record, so that there is nothing "
                "to condition on. Choose ModelCorrection."
            )
        drawn = Drawn(names, _Keys(count, seed), model.initial)
        return Restored(drawn, _bound(grid), base)

    def describe(self, number: str = RATIO) -> str:
        """Clipped about the conditional mean."""
        return (
            f"{number} is clipped about its mean given the covariates, and what the "
            "model expects the clip to take is added"
        )


@dataclass(frozen=True)
class Shrinking:
    """The ratio, drawn towards its mean given the covariates until the bound holds.

    For models whose responses can be listed, such as logistic regression. Records with
    covariates that would be clipped tell less, but nothing wrong.
    """

    def influence(
        self,
        model: Model,
        one_record: Any,
        grid: Grid,
        records: int,
        base: Influence = PLAIN,
    ) -> Influence:
        """Ratios shrunk over all responses."""
        del records
        shapes = _prepared(model, one_record)
        _response_names(model, shapes, "Shrinking")
        listed = _listed(model, shapes)
        if listed is None:
            raise InputError(
                "Shrinking needs all values of every response, at most "
                f"{_MOST_RESPONSES} together, but Model.responses is "
                f"{model.responses!r}. List them, such as {{'y': (0.0, 1.0)}}, or "
                "choose ConditionalCentring."
            )
        return Shrunk(listed, _bound(grid), base)

    def describe(self, number: str = RATIO) -> str:
        """Shrunk to the conditional mean."""
        return (
            f"{number} is shrunk towards its mean given the covariates until no "
            "response is clipped, unless the mean itself is"
        )


@dataclass(frozen=True)
class _Keys:
    """Random keys from covariates, so that records have draws of their own.

    Were they the same for all records, the errors of all would add up.
    """

    count: int
    seed: int

    def __call__(self, covariates: Any) -> tuple[jax.Array, ...]:
        key = jax.random.key(self.seed)
        for leaf in jax.tree.leaves(covariates):
            words = _words(jnp.asarray(leaf))
            # A hash of many words by random factors, for one fold instead of many.
            key, for_factors = jax.random.split(key)
            factors = jax.random.bits(for_factors, words.shape, jnp.uint32)
            key = jax.random.fold_in(key, jnp.sum(words * factors, dtype=jnp.uint32))
        return tuple(jax.random.split(key, self.count))


def _words(leaf: jax.Array) -> jax.Array:
    """The bits of an array, as words."""
    if leaf.dtype.itemsize < 4:
        leaf = leaf.astype(jnp.float32)
    return jnp.ravel(jax.lax.bitcast_convert_type(leaf, jnp.uint32))


def _bound(grid: Grid) -> float:
    """The clip in units of a ratio that is not tempered yet."""
    return grid.clip / grid.scale


def _prepared(model: Model, one_record: Any) -> Any:
    """The shapes of one record as the log-likelihood reads it."""
    if model.preparation is None:
        return one_record
    with jax.enable_x64(_is_wide(one_record)):
        return shape_of_result("preparation", model.preparation, one_record)


def _is_wide(shapes: Any) -> bool:
    """Whether a record holds 64-bit numbers, as in a chain of float64."""
    return any(leaf.dtype.itemsize == 8 for leaf in jax.tree.leaves(shapes))


def _require_records(model: Model, method: str) -> None:
    """Refuse units: of a sum over records, a clip takes something else."""
    if model.per == "unit":
        raise InputError(
            f"{method} is for models of single records, but the records are grouped "
            "into units. Choose PlainClipping, or dpmcmc.ControlVariates()."
        )


def _require_simulator(model: Model, method: str) -> None:
    _require_records(model, method)
    if model.simulate is None:
        raise InputError(
            f"{method} needs a simulator, but the model has none. Give "
            "Model(simulate=…), take a ready model or a NumPyro model, or choose "
            "PlainClipping."
        )


def _require_visible_simulator(model: Model, shapes: Any) -> None:
    """Refuse a simulator that could show the covariates of records, or mix them."""
    assert model.simulate is not None
    with jax.enable_x64(_is_wide(shapes)):
        theta = jax.tree.map(jnp.asarray, model.initial)
        key = jax.random.key(0)
        shape_of_result("simulate", model.simulate, theta, key, shapes)
        require_visible("simulate", model.simulate, theta, key, shapes)


def _require_continuous(model: Model) -> None:
    for leaf in jax.tree.leaves(model.initial):
        if np.asarray(leaf).dtype.kind != "f":
            raise InputError(
                f"ModelCorrection simulates half-way between two points, but initial "
                f"holds the discrete parameter {leaf!r}; all must be continuous. "
                "Choose PlainClipping or, if the model has listed responses, "
                "ConditionalCentring."
            )


def _response_names(model: Model, shapes: Any, method: str) -> tuple[str, ...]:
    """The response columns, which must be numbers of a record that is a dict."""
    _require_records(model, method)
    if model.responses is None:
        raise InputError(
            f"{method} needs to know which columns are responses, but Model.responses "
            "is None. Give it, such as {'y': (0.0, 1.0)}; or choose ModelCorrection, "
            "if the model simulates whole records."
        )
    names = tuple(model.responses)
    for name in names:
        if not isinstance(shapes, dict) or name not in shapes:
            raise InputError(
                f"responses names {name!r}, which a record does not have. Records must "
                "be dicts of columns, with every response among them."
            )
    return names


def _listed(model: Model, shapes: Any) -> Listed | None:
    """All responses, if they are single numbers that are listed and few."""
    assert model.responses is not None
    values = [model.responses[name] for name in model.responses]
    if any(shapes[name].shape != () for name in model.responses):
        return None
    known = [tuple(map(float, one)) for one in values if isinstance(one, Sequence)]
    if len(known) < len(values) or math.prod(map(len, known)) > _MOST_RESPONSES:
        return None
    return Listed(tuple(model.responses), tuple(known))
