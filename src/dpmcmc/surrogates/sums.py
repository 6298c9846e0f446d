# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Releasing the sum of sufficient statistics, and what a chain needs of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from dp_accounting.dp_event import DpEvent
from jax.flatten_util import ravel_pytree

from dpmcmc.errors import InputError, require_positive
from dpmcmc.influence import Told, Unexplained, unit_statistics
from dpmcmc.model.model import Model, check_model
from dpmcmc.model.statistics import Statistics
from dpmcmc.model.tracing import as_float, is_double
from dpmcmc.private import NoisySums, Records, Tape
from dpmcmc.proposals import Proposal
from dpmcmc.surrogates.about import proposal_about, scattered
from dpmcmc.surrogates.mode import mode
from dpmcmc.surrogates.sufficient import StatisticsPlan

__all__ = ["Sums", "check_statistics_release", "release_statistics"]


class Shape(NamedTuple):
    """The normal law about the top of a public posterior."""

    mean: Any
    top: np.ndarray
    covariance: np.ndarray

    @property
    def proposal(self) -> Proposal:
        """Moves about it."""
        return proposal_about(self.mean, self.covariance)


@dataclass(frozen=True, eq=False)
class Sums:
    """A sum of sufficient statistics, released with noise.

    Attributes
    ----------
    total
        The sum as it was released, in units of the bound.
    plan
        What was settled before.
    model, dtype
        The model, and the precision of the chain.
    tempering
        The power τ of the likelihood.
    """

    total: np.ndarray
    plan: StatisticsPlan
    model: Model
    tempering: float
    dtype: str

    @property
    def event(self) -> DpEvent:
        """What it cost."""
        return self.plan.event

    @property
    def description(self) -> str:
        """What was released, in words."""
        return self.plan.description

    @cached_property
    def told(self) -> Told:
        """The posterior as if the sum had no noise."""
        statistics = self.plan.statistics
        with jax.enable_x64(True):
            noisy = statistics.read(
                self.total * statistics.bound, self.plan.records, self.plan.deviation
            )
        return Told(statistics, noisy, self.tempering)

    @property
    def aware(self) -> Told | None:
        """The posterior by the law of the noisy sum, where the model states it.

        A tempered likelihood has no such law: there it is None, too.
        """
        has_law = self.plan.statistics.log_density is not None
        is_whole = self.tempering == 1
        return replace(self.told, is_aware=True) if has_law and is_whole else None

    @cached_property
    def shape(self) -> Shape:
        """The shape of the posterior as if the sum had no noise."""
        return self._shape(self.told, self._coordinates()[0])

    @property
    def aware_shape(self) -> Shape:
        """The shape of the posterior by the law of the noisy sum."""
        assert self.aware is not None
        return self._shape(self.aware, self.shape.top)

    def _coordinates(self) -> tuple[np.ndarray, Callable[[jax.Array], Any]]:
        """The initial point, and what makes θ of coordinates, in float64."""
        with jax.enable_x64(True):
            start = jax.tree.map(
                lambda leaf: jnp.asarray(leaf, float), self.model.initial
            )
            flat, unravel = ravel_pytree(start)
            return np.asarray(flat), unravel

    def _shape(self, told: Told, start: np.ndarray) -> Shape:
        """The shape of the posterior that a told sum makes, from public numbers."""
        model, dtype = self.model, self.dtype
        with jax.enable_x64(True):
            unravel = self._coordinates()[1]

            def log_posterior(point: jax.Array) -> jax.Array:
                theta = unravel(point)
                return as_float(model.log_prior(theta), float) + told.log_density(theta)

            top, precision = mode(log_posterior, start)
            mean = unravel(jnp.asarray(top))
        with jax.enable_x64(is_double(dtype)):
            mean = jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype), mean)
        return Shape(mean, top, np.linalg.inv(precision))

    @property
    def mean(self) -> Any:
        """The top of the posterior as if the sum had no noise."""
        return self.shape.mean

    @property
    def proposal(self) -> Proposal:
        """Moves about the posterior as if the sum had no noise."""
        return self.shape.proposal

    @property
    def influence(self) -> Unexplained:
        """What of a record enters a decision, where the sum does not say all."""
        statistics = self.plan.statistics
        possible = np.asarray(self.told.noisy.possible) / statistics.bound
        return Unexplained(statistics, possible, self.plan.records, self.tempering)

    @property
    def noise_covariance(self) -> np.ndarray:
        """The covariance of the shift that the noise makes, in coordinates of θ.

        To first order: the noise of the sum, times the slope of φ at the top, shifts
        the slope of the log posterior; the top moves by the covariance times that.
        """
        with jax.enable_x64(True):
            unravel = self._coordinates()[1]
            slopes = jax.jacfwd(
                lambda point: self.plan.statistics.at(unravel(point))[0]
            )(jnp.asarray(self.shape.top))
        shift = self.tempering * self.plan.deviation * np.asarray(slopes)
        spread = shift @ self.shape.covariance
        return spread.T @ spread

    def noise_aware(
        self, draws: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray:
        """Move each draw by a draw of the shift that the noise makes.

        Parameters
        ----------
        draws
            Coordinates of θ along the last axis, in the order of
            ``jax.flatten_util.ravel_pytree``.
        generator
            Public randomness.
        """
        return scattered(draws, self.noise_covariance, generator)


def check_statistics_release(
    model: Model, records: Records, plan: StatisticsPlan, dtype: str
) -> None:
    """Refuse a model whose statistics cannot be released; no record is read.

    Raises
    ------
    InputError
        If θ has discrete parameters, the statistics fail to trace, or the plan is
        for other records or another model.
    """
    if len(records) != plan.records or model.statistics is not plan.statistics:
        raise InputError(
            f"the statistics were planned for {plan.records} records of another model, "
            f"or there are not {len(records)}. Plan them for what there is."
        )
    for leaf in jax.tree.leaves(model.initial):
        if np.asarray(leaf).dtype.kind != "f":
            raise InputError(
                f"initial holds {leaf!r}, a discrete parameter; sufficient statistics "
                "are for continuous parameters alone. Write 0.0 for a real number, or "
                "sample without them."
            )
    with jax.enable_x64(is_double(dtype)):
        theta = jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype), model.initial)
        check_model(model, theta, records.shape_of_one(dtype))


def release_statistics(
    model: Model,
    records: Records,
    plan: StatisticsPlan,
    tape: Tape,
    *,
    tempered: float | None = None,
    dtype: str = "float32",
    devices: Sequence[jax.Device] | None = None,
    released: np.ndarray | None = None,
    done: Callable[[int], object] | None = None,
) -> Sums:
    """Release the sum of the records' statistics.

    With a fresh tape the result is private, at the cost of ``plan.event``. With a
    seeded one it can be made again, and is not private.

    Parameters
    ----------
    model, records
        The model, which states its statistics; the sealed records.
    plan
        The noise, from `SufficientStatistics.plan`.
    tape
        The randomness; a secret tape serves this release alone.
    tempered
        How many records the likelihood counts for, N₀; all unless given.
    dtype
        The precision of the statistics, "float32" or "float64".
    devices
        The first of them computes; JAX's first unless given.
    released
        The sum that an earlier call released, `Sums.total`; then no record is read
        and nothing new released.
    done
        Is called now and then with how many more records were added, if given; the
        numbers follow from shapes alone.

    Raises
    ------
    InputError
        If something given cannot be used; no record was read.

    Guarantee
    ---------
    What is returned is a function of what one call of `NoisySums.release` over all
    records returned, with the plan's noise, and of public numbers; so it costs
    ``plan.event``, if the tape is fresh.
    """
    check_statistics_release(model, records, plan, dtype)
    power = len(records) if tempered is None else tempered
    power = require_positive("tempered", power, "Give N₀, or None.")
    if released is None:
        sums = NoisySums(
            replace(model, log_likelihood=_UnitOf(plan.statistics)),
            records,
            _itself,
            tape,
            batch=plan.records,
            noise_multiplier=plan.noise_multiplier,
            dtype=dtype,
            device=(devices or jax.devices())[0],
        )
        released = sums.release((), done)
    return Sums(released, plan, model, power / plan.records, dtype)


@dataclass(frozen=True, eq=False)
class _UnitOf:
    """Stands where a log-likelihood stands, and says the statistics of a record."""

    statistics: Statistics

    def __call__(self, _: Any, record: Any) -> jax.Array:
        return unit_statistics(self.statistics, record)


def _itself(log_likelihood: Callable[[Any], jax.Array], public: Any) -> jax.Array:
    """What each record is asked: what stands for its log-likelihood, as it is."""
    return log_likelihood(public)
