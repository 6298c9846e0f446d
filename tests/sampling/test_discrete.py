# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Posteriors of discrete parameters, by enumeration, against the chain's frequencies.

A chain on few states is known exactly: its kernel is K = q σ(log π(y)/π(x)), with
eigenvalues 1 > λ₂ ≥ … It is reversible, so that the frequency of state s over n draws
has variance (1/n) Σᵢ cᵢ² (1 + λᵢ)/(1 − λᵢ), and that of any set of states at most
(1/4n) (1 + λ₂)/(1 − λ₂). Frequencies are normal by the central limit theorem. So the
total variation T = ½ Σ |frequency − π| has mean at most Σ sdₛ/√(2π), and exceeds it by
more than √(2 log 1/α) times the largest sd of a set with a chance of at most α
(concentration of normal vectors). That the chains have forgotten their start after the
warm-up is computed from powers of K.

Private chains have fresh randomness: these tests can fail by chance, once in 10⁷ runs.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logsumexp

import dpmcmc
from dpmcmc.proposals import (
    BitFlips,
    Blocks,
    IntegerWalk,
    Mixture,
    PerCoordinate,
    RandomWalk,
)

FALSE_ALARM = 1e-7
"""The chance that one run misses its bound although the draws are right."""


class Length(NamedTuple):
    """How many chains, of how many steps, the first of which are set aside."""

    chains: int
    steps: int
    warmup: int


LONG = Length(chains=64, steps=9_000, warmup=2_000)
SHORT = Length(chains=16, steps=3_500, warmup=500)
"""56,000 bits: what a budget buys at a clip of 0.01."""


@dataclass(frozen=True, eq=False)
class Case:
    """A model on few states: the states, how they are proposed, and the records."""

    model: dpmcmc.Model
    records: Any
    states: np.ndarray
    chances: np.ndarray
    proposal: Any
    precision: str = "float32"

    def theta(self, states: np.ndarray) -> Any:
        (name,) = self.model.initial
        return {name: jnp.asarray(states)}

    @cached_property
    def log_likelihoods(self) -> np.ndarray:
        """Of each record (columns) in each state (rows), in float64."""
        with jax.enable_x64(True):
            over_records = jax.vmap(self.model.log_likelihood, (None, 0))
            over_states = jax.jit(jax.vmap(over_records, (0, None)))
            return np.asarray(over_states(self.theta(self.states), self.records))

    @cached_property
    def posterior(self) -> np.ndarray:
        """The exact posterior, state by state."""
        with jax.enable_x64(True):
            prior = jax.vmap(self.model.log_prior)(self.theta(self.states))
        log_posterior = np.asarray(prior) + self.log_likelihoods.sum(axis=1)
        return np.exp(log_posterior - logsumexp(log_posterior))

    @cached_property
    def tempered(self) -> np.ndarray:
        """A posterior that is off: one in which each record counts for half."""
        evidence = self.log_likelihoods.sum(axis=1)
        off = self.posterior * np.exp(-(evidence - evidence.max()) / 2)
        return off / off.sum()

    @cached_property
    def wide_clip(self) -> float:
        """A clip that no ratio of two states reaches that are proposed in turn."""
        ratios = [
            np.abs(self.log_likelihoods[near] - here).max()
            for near, here in zip(self.chances > 0, self.log_likelihoods, strict=True)
        ]
        return float(1.01 * max(ratios))

    def frequencies(self, posterior: dpmcmc.Posterior) -> np.ndarray:
        (draws,) = posterior.draws.values()
        known = numbered(self.states)
        found = numbered(draws.reshape(-1, *self.states.shape[1:]))
        assert np.all(np.isin(found, known))
        return np.bincount(found, minlength=known.max() + 1)[known] / len(found)


def numbered(states: np.ndarray) -> np.ndarray:
    """A number for each state: its bits, or the whole number that it is."""
    if states.ndim == 1:
        return states
    return states @ (1 << np.arange(states.shape[1]))


def total_variation(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.abs(one - other).sum() / 2)


def stated_bound(case: Case, length: Length) -> float:
    """The bound on the total variation, with the false-alarm rate of this file."""
    target = case.posterior
    log_target = np.log(target)
    kernel = case.chances * expit(log_target[None] - log_target[:, None])
    kernel -= np.diag(kernel.sum(axis=1) - 1)
    root = np.sqrt(target)
    eigenvalues, vectors = np.linalg.eigh(root[:, None] * kernel / root)
    shares = (vectors[:, :-1] * root[:, None]) ** 2
    slowness = (1 + eigenvalues[:-1]) / (1 - eigenvalues[:-1])
    draws = length.chains * (length.steps - length.warmup)
    deviations = np.sqrt(shares @ slowness / draws)
    of_a_set = np.sqrt(slowness.max() / draws) / 2
    # from the worst start; a chain that has not forgotten it counts as an alarm
    later = np.linalg.matrix_power(kernel, length.warmup)
    left = np.abs(later - target).sum(axis=1) / 2
    assert length.chains * left.max() < FALSE_ALARM / 10
    fluctuation = of_a_set * np.sqrt(2 * np.log(1 / FALSE_ALARM))
    return float(deviations.sum() / np.sqrt(2 * np.pi) + fluctuation)


# Three problems with few states.


def hamming(states: np.ndarray) -> np.ndarray:
    return np.sum(states[:, None] != states[None], axis=2)


def all_bits(size: int) -> np.ndarray:
    return (np.arange(2**size)[:, None] >> np.arange(size)) % 2 == 1


def signs(rng: np.random.Generator, means: np.ndarray) -> np.ndarray:
    """Values of ±1 with the given means: bounded, and of about unit variance."""
    return np.where(rng.random(len(means)) < (1 + means) / 2, 1.0, -1.0)


def variable_selection(count: int) -> Case:
    """Which of six known effects are in a linear model; prior chance 0.3 of each."""
    effects = np.array([1.0, -0.75, 0.5, 0.5, -0.25, 1.0]) / np.sqrt(count)
    rng = np.random.default_rng(31)
    covariates = rng.choice([-1.0, 1.0], size=(count, 6))
    truth = np.array([2, 0, 3, 0, 0, 1]) * effects
    records = {"x": covariates, "y": signs(rng, covariates @ truth)}

    def log_likelihood(theta: Any, record: Any) -> Any:
        present = jnp.where(theta["included"], jnp.array(effects.tolist()), 0.0)
        fitted = present @ record["x"]
        return -((record["y"] - fitted) ** 2) / 2

    def log_prior(theta: Any) -> Any:
        return jnp.sum(jnp.where(theta["included"], jnp.log(0.3), jnp.log(0.7)))

    initial = {"included": np.zeros(6, bool)}
    states = all_bits(6)
    return Case(
        dpmcmc.Model(log_likelihood, log_prior, initial),
        records,
        states,
        chances=(hamming(states) == 1) / 6,
        proposal=BitFlips(),
    )


def ising_chain(count: int) -> Case:
    """Eight spins with a coupling prior; a record is a noisy look at one of them."""
    rng = np.random.default_rng(32)
    truth = np.array([1, 1, 1, -1, -1, 1, 1, 1])
    spins = rng.integers(0, 8, size=count)
    field = 0.5 / np.sqrt(count)
    records = {"spin": spins, "value": signs(rng, 12 * field * truth[spins])}

    def log_likelihood(theta: Any, record: Any) -> Any:
        spin = jnp.where(theta["up"][record["spin"]], 1.0, -1.0)
        return -((record["value"] - field * spin) ** 2) / 2

    def log_prior(theta: Any) -> Any:
        spins = jnp.where(theta["up"], 1.0, -1.0)
        return 0.3 * jnp.sum(spins[1:] * spins[:-1])

    states = all_bits(8)
    return Case(
        dpmcmc.Model(log_likelihood, log_prior, initial={"up": np.zeros(8, bool)}),
        records,
        states,
        chances=(hamming(states) == 1) / 8,
        proposal=BitFlips(),
    )


def change_point(count: int) -> Case:
    """The time, of 1, …, 20, from which on values have a higher mean."""
    rng = np.random.default_rng(33)
    states = np.arange(1, 21)
    times = rng.choice(states, size=count)
    rise = 1 / np.sqrt(count)
    records = {"time": times, "value": signs(rng, rise * np.where(times < 13, -5, 6))}

    def log_likelihood(theta: Any, record: Any) -> Any:
        mean = jnp.where(record["time"] >= theta["change"], rise, 0.0)
        return -((record["value"] - mean) ** 2) / 2

    apart = np.abs(states[:, None] - states[None])
    return Case(
        dpmcmc.Model(log_likelihood, lambda theta: 0.0, initial={"change": 1}),
        records,
        states,
        chances=(apart == 1) / 4 + ((apart > 0) & (apart <= 10)) / 40,
        proposal=Mixture([(1, IntegerWalk(1, 1, 20)), (1, IntegerWalk(10, 1, 20))]),
        precision="float64",
    )


CASES = [variable_selection, ising_chain, change_point]


def assert_right(case: Case, length: Length, posterior: dpmcmc.Posterior) -> None:
    """Frequencies agree with enumeration, and would not with what is off."""
    bound = stated_bound(case, length)
    assert bound < (0.045 if length is LONG else 0.12)
    found = case.frequencies(posterior)
    assert total_variation(found, case.posterior) < bound
    assert total_variation(found, case.tempered) > bound


@pytest.mark.slow
@pytest.mark.parametrize("make", CASES)
def test_not_private(make: Any) -> None:
    """Bounds of 0.023, 0.040 and 0.020."""
    case = make(80)
    posterior = dpmcmc.sample_not_private(
        case.model,
        case.records,
        method=dpmcmc.Barker(proposal=case.proposal),
        precision=case.precision,
        seed=34,
        progress=False,
        **LONG._asdict(),
    )
    assert_right(case, LONG, posterior)


@pytest.mark.parametrize("make", [variable_selection, change_point])
def test_private(make: Any) -> None:
    """Bounds of 0.068 and 0.067, at ε = 10.

    With 10,000 records of little weight each, a clip that touches none of them is
    small enough for a budget.
    """
    case = make(10_000)
    posterior = dpmcmc.sample(
        case.model,
        case.records,
        delta=1e-3,
        method=dpmcmc.Barker(clip=case.wide_clip, proposal=case.proposal),
        precision=case.precision,
        progress=False,
        **SHORT._asdict(),
    )
    assert posterior.statement.is_private
    assert posterior.statement.epsilon < 10.5
    assert_right(case, SHORT, posterior)


def test_draws_of_discrete_parameters_are_summed_up_and_shown() -> None:
    case = change_point(80)
    posterior = dpmcmc.sample_not_private(
        case.model,
        case.records,
        steps=200,
        method=dpmcmc.Barker(proposal=case.proposal),
        seed=37,
        progress=False,
    )
    assert posterior.draws["change"].dtype == np.int32
    assert 1 <= posterior.summary().loc["change", "mean"] <= 20
    assert "change" in str(posterior)


# Continuous and discrete together: which of six effects are in, and how large they are.

SD = 2.0


@dataclass(frozen=True, eq=False)
class Selection:
    """A linear model with six inclusion bits, and six effects of N(0, 1) priors."""

    covariates: np.ndarray
    response: np.ndarray

    @property
    def model(self) -> dpmcmc.Model:
        def log_likelihood(theta: Any, record: Any) -> Any:
            effects = jnp.where(theta["included"], theta["effect"], 0.0)
            off = record["y"] - jnp.sum(effects * record["x"])
            return -(off**2) / (2 * SD**2)

        def log_prior(theta: Any) -> Any:
            return -jnp.sum(theta["effect"] ** 2) / 2

        initial = {"included": np.zeros(6, bool), "effect": np.zeros(6)}
        return dpmcmc.Model(log_likelihood, log_prior, initial)

    def exact(self) -> tuple[np.ndarray, np.ndarray]:
        """Posterior of the 64 inclusions, and the mean of each included effect.

        Given the inclusions the effects are normal: integrated out, the response is
        N(0, SD² + X Xᵀ), with the included columns X.
        """
        log_weights, means = [], []
        for included in all_bits(6):
            x = self.covariates * included
            covariance = SD**2 * np.eye(len(x)) + x @ x.T
            law = stats.multivariate_normal(np.zeros(len(x)), covariance)
            log_weights.append(law.logpdf(self.response))
            means.append(x.T @ np.linalg.solve(covariance, self.response))
        weights = np.exp(log_weights - logsumexp(log_weights))
        return weights, weights @ np.array(means)


def selection() -> Selection:
    rng = np.random.default_rng(35)
    covariates = rng.normal(size=(40, 6))
    effects = np.array([1.0, 0, 0.6, 0, 0, -0.4])
    return Selection(covariates, covariates @ effects + SD * rng.normal(size=40))


def assert_selection_right(problem: Selection, posterior: dpmcmc.Posterior) -> None:
    """As above, but with the deviations of frequencies seen between the chains.

    64 independent chains give the covariance S of their mean frequencies; the variance
    of a set of states is at most 64 λ/4, λ the largest eigenvalue of S. The means of
    the six effects are held to z standard errors, seen between the chains as well.
    """
    exact, means = problem.exact()
    bits = posterior.draws["included"]
    states = bits @ (1 << np.arange(6))
    each = (
        np.array([np.bincount(row, minlength=64) for row in states]) / states.shape[1]
    )
    covariance = np.cov(each.T) / len(each)
    of_a_set = np.sqrt(64 * np.linalg.eigvalsh(covariance)[-1]) / 2
    fluctuation = of_a_set * np.sqrt(2 * np.log(1 / FALSE_ALARM))
    bound = np.sqrt(np.diag(covariance)).sum() / np.sqrt(2 * np.pi) + fluctuation
    assert bound < 0.08
    found = each.mean(axis=0)
    assert total_variation(found, exact) < bound
    rest = np.arange(40) != 19  # without one record, the one that matters most
    fewer, _ = Selection(problem.covariates[rest], problem.response[rest]).exact()
    assert total_variation(found, fewer) > bound
    effects = np.mean(posterior.draws["effect"] * bits, axis=1, dtype=np.float64)
    errors = effects.std(axis=0, ddof=1) / np.sqrt(len(each))
    z = stats.t(len(each) - 1).isf(FALSE_ALARM / 2 / 6)
    assert np.all(np.abs(effects.mean(axis=0) - means) < z * errors)
    assert np.all(errors < 0.02)


@pytest.mark.slow
def test_inclusions_and_effects_together() -> None:
    """A bound of 0.071 on the total variation of the inclusions."""
    problem = selection()
    parts = {
        "included": BitFlips(),
        "effect": Mixture([(1, RandomWalk(0.5)), (1, PerCoordinate(1.0))]),
    }
    posterior = dpmcmc.sample_not_private(
        problem.model,
        {"x": problem.covariates, "y": problem.response},
        method=dpmcmc.Barker(proposal=Blocks(parts, together=False)),
        chains=64,
        steps=30_000,
        warmup=2_000,
        seed=36,
        progress=False,
    )
    assert posterior.draws["included"].dtype == bool
    assert posterior.draws["effect"].dtype == np.float32
    assert_selection_right(problem, posterior)
