# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The posterior is right where no ratio is clipped; the prior remains where all are.

Means and standard deviations are compared with the truth in units of their
Monte-Carlo error, which follows from the effective sample size. Ranks of simulated
parameters among their draws are compared with the uniform law. All seeds are fixed.
Each check is also shown to fail on a posterior that is slightly wrong.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import arviz as az
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy import stats as jstats
from scipy import special, stats

import dpmcmc
from dpmcmc.private import Tape
from dpmcmc.proposals import Noise, Proposed

az.Numba.disable_numba()  # with it, mcse fails under newer NumPy

FALSE_ALARM = 1e-4
"""The chance that one test in this file fails although the draws are right."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Flip:
    """A proposal that always suggests the other one of the points 0 and 1."""

    def fit(self, theta: jax.Array) -> "Flip":
        return self

    def propose(self, theta: jax.Array, noise: Noise) -> Proposed:
        return Proposed(1 - theta, 0.0)


class Truth(NamedTuple):
    mean: float
    sd: float


def misses(posterior: dpmcmc.Posterior, truth: Mapping[str, Truth]) -> list[str]:
    """What is further from the truth than Monte-Carlo error allows.

    Each mean and each sd is within z Monte-Carlo standard errors of the truth, z such
    that all of them together miss by chance in FALSE_ALARM of all runs.
    """
    comparisons = 2 * len(truth)
    z = stats.norm.isf(FALSE_ALARM / (2 * comparisons))
    data = posterior.to_arviz()
    found = []
    for name, true in truth.items():
        draws = posterior.draws[name].astype(float)
        error_of_mean = float(az.mcse(data, var_names=name, method="mean")[name])
        error_of_sd = float(az.mcse(data, var_names=name, method="sd")[name])
        off_mean = (draws.mean() - true.mean) / error_of_mean
        off_sd = (draws.std(ddof=1) - true.sd) / error_of_sd
        if abs(off_mean) > z:
            found.append(f"mean of {name}: off by {off_mean:.1f} standard errors")
        if abs(off_sd) > z:
            found.append(f"sd of {name}: off by {off_sd:.1f} standard errors")
    return found


def assert_right(
    posterior: dpmcmc.Posterior, truth: Mapping[str, Truth], off: float = 0.15
) -> None:
    """Draws agree with the truth, and would not with one that is ``off`` sd off."""
    assert misses(posterior, truth) == []
    for name, true in truth.items():
        moved = true._replace(mean=true.mean + off * true.sd)
        wider = true._replace(sd=(1 + off) * true.sd)
        assert misses(posterior, {**truth, name: moved})
        assert misses(posterior, {**truth, name: wider})


# A normal mean, its variance known: a bare array as θ.

normal_mean = dpmcmc.Model(
    log_likelihood=lambda theta, record: jstats.norm.logpdf(record, theta, 2.0),
    log_prior=lambda theta: jstats.norm.logpdf(theta, 1.0, 0.5),
    initial=jnp.float32(0.0),
)


def normal_mean_truth(records: np.ndarray) -> dict[str, Truth]:
    precision = 1 / 0.5**2 + len(records) / 2.0**2
    mean = (1.0 / 0.5**2 + records.sum() / 2.0**2) / precision
    return {"theta": Truth(mean, precision**-0.5)}


@pytest.mark.parametrize(
    ("count", "precision"), [(1, "float32"), (30, "float64"), (1500, "float32")]
)
def test_normal_mean(count: int, precision: str) -> None:
    records = np.random.default_rng(count).normal(2.0, 2.0, size=count)
    truth = normal_mean_truth(records)
    posterior = dpmcmc.sample_not_private(
        normal_mean,
        records,
        steps=12_000,
        method=dpmcmc.Barker(proposal=dpmcmc.RandomWalk(2.4 * truth["theta"].sd)),
        seed=1,
        chains=4,
        precision=precision,
        progress=False,
    )
    assert posterior.draws["theta"].dtype == precision
    assert_right(posterior, truth)


# Beta–Bernoulli, θ = logit p: a Beta(2, 3) prior on p, with the Jacobian p (1 − p).


def _bernoulli_log_likelihood(theta: dict, record: dict) -> jnp.ndarray:
    logit = theta["logit"]
    return record["y"] * logit - jnp.logaddexp(0.0, logit)


def _beta_log_prior(theta: dict) -> jnp.ndarray:
    logit = theta["logit"]
    return 2.0 * logit - (2.0 + 3.0) * jnp.logaddexp(0.0, logit)


beta_bernoulli = dpmcmc.Model(
    _bernoulli_log_likelihood, _beta_log_prior, initial={"logit": 0.0}
)


def beta_bernoulli_truth(successes: int, count: int) -> dict[str, Truth]:
    """The logit of a Beta(a, b) variable has digamma and trigamma moments."""
    a, b = 2 + successes, 3 + count - successes
    mean = special.digamma(a) - special.digamma(b)
    variance = special.polygamma(1, a) + special.polygamma(1, b)
    return {"logit": Truth(float(mean), float(variance**0.5))}


def test_beta_bernoulli_on_the_logit_scale() -> None:
    successes, count = 0, 6
    records = {"y": np.arange(count) < successes}
    truth = beta_bernoulli_truth(successes, count)
    posterior = dpmcmc.sample_not_private(
        beta_bernoulli,
        records,
        steps=15_000,
        method=dpmcmc.Barker(proposal=dpmcmc.RandomWalk(2.4 * truth["logit"].sd)),
        seed=2,
        chains=4,
        progress=False,
    )
    assert_right(posterior, truth)


def test_beta_bernoulli_drawn_privately(monkeypatch: pytest.MonkeyPatch) -> None:
    """The private chain, at a clip that no ratio reaches and at a proven cost.

    A ratio is at most half the move of the logit, so that only a move of more than
    4.2 standard deviations, one in 40,000 and hardly ever accepted, meets the clip.
    The fresh tape is replaced by a seeded one, so that the test can be repeated.
    """
    monkeypatch.setattr(Tape, "fresh", classmethod(lambda cls, **_: cls.seeded(3)))
    count = 100_000
    posterior = dpmcmc.sample(
        beta_bernoulli,
        {"y": np.arange(count) < 50_100},
        steps=2000,
        delta=1e-6,
        method=dpmcmc.Barker(clip=0.03, proposal=dpmcmc.RandomWalk(0.014)),
        chains=2,
        warmup=100,
        precision="float64",
        progress=False,
    )
    assert posterior.statement.is_private
    assert posterior.statement.epsilon < 11
    assert_right(posterior, beta_bernoulli_truth(50_100, count), off=0.5)


# The mixture of the paper: 0.5 N(θ₁, 2) + 0.5 N(θ₁ + θ₂, 2), against a grid.

PRIOR_VARIANCES = (10.0, 1.0)


def mixture_log_likelihood(theta: tuple, record: jnp.ndarray) -> jnp.ndarray:
    first = jstats.norm.logpdf(record, theta[0], 2**0.5)
    second = jstats.norm.logpdf(record, theta[0] + theta[1], 2**0.5)
    return jnp.logaddexp(first, second) - jnp.log(2.0)


mixture = dpmcmc.Model(
    mixture_log_likelihood,
    lambda theta: sum(
        jstats.norm.logpdf(value, 0.0, variance**0.5)
        for value, variance in zip(theta, PRIOR_VARIANCES, strict=True)
    ),
    initial=(0.0, 0.0),
)


def mixture_truth(records: np.ndarray) -> dict[str, Truth]:
    """Moments on a grid, which NumPy computes with no code of ours."""
    first, second = np.linspace(-2.5, 3.5, 301), np.linspace(-5.5, 5.5, 551)
    log_density = -0.5 * (
        first[:, None] ** 2 / PRIOR_VARIANCES[0]
        + second[None, :] ** 2 / PRIOR_VARIANCES[1]
    )
    for x in records:
        one = -((x - first[:, None]) ** 2) / 4
        other = -((x - first[:, None] - second[None, :]) ** 2) / 4
        log_density = log_density + np.logaddexp(one, other)
    weights = np.exp(log_density - log_density.max())
    weights /= weights.sum()
    edge = max(weights[[0, -1]].sum(), weights[:, [0, -1]].sum())
    assert edge < 1e-9, "the grid must hold the whole posterior"
    truth = {}
    for name, points, mass in [
        ("0", first, weights.sum(axis=1)),
        ("1", second, weights.sum(axis=0)),
    ]:
        mean = float(points @ mass)
        truth[name] = Truth(mean, float((points - mean) ** 2 @ mass) ** 0.5)
    return truth


def test_mixture_of_the_paper() -> None:
    rng = np.random.default_rng(4)
    records = rng.integers(2, size=200) * 1.0 + rng.normal(0.0, 2**0.5, size=200)
    posterior = dpmcmc.sample_not_private(
        mixture,
        records,
        steps=60_000,
        method=dpmcmc.Barker(proposal=dpmcmc.RandomWalk((0.45, 0.9))),
        seed=4,
        chains=4,
        progress=False,
    )
    assert_right(posterior, mixture_truth(records))


# Simulation-based calibration: draw θ from the prior, then records, then the
# posterior. The rank of θ among independent draws is uniform (Talts et al. 2018). So is
# the rank of its likelihood, which also tells a posterior from the prior.

REPLICATES, RANKED, BINS = 256, 63, 16
QUICK = 100


def calibration_model(prior_sd: float = 1.0, noise: float = 1.0) -> dpmcmc.Model:
    """Mean and log sd of normal records; the defaults are how they are simulated."""

    def log_likelihood(theta: dict, record: jnp.ndarray) -> jnp.ndarray:
        return jstats.norm.logpdf(
            record, theta["mean"], noise * jnp.exp(theta["log_sd"])
        )

    def log_prior(theta: dict) -> jnp.ndarray:
        return jstats.norm.logpdf(theta["mean"], 0.0, prior_sd) + jstats.norm.logpdf(
            theta["log_sd"], 0.0, 0.5
        )

    return dpmcmc.Model(log_likelihood, log_prior, {"mean": 0.0, "log_sd": 0.0})


def ranks(
    model: dpmcmc.Model, replicates: int = REPLICATES, clip: float | None = None
) -> dict[str, np.ndarray]:
    """The rank of what was simulated among the last draws of RANKED chains."""
    found: dict[str, list[int]] = {"mean": [], "log_sd": [], "likelihood": []}
    walk = dpmcmc.RandomWalk({"mean": 0.7, "log_sd": 0.5})
    for replicate in range(replicates):
        rng = np.random.default_rng([5, replicate])
        truth = {"mean": rng.normal(0.0, 1.0), "log_sd": rng.normal(0.0, 0.5)}
        records = rng.normal(truth["mean"], np.exp(truth["log_sd"]), size=6)
        posterior = dpmcmc.sample_not_private(
            model,
            records,
            steps=150,
            chains=RANKED,
            method=dpmcmc.Barker(clip=clip, proposal=walk),
            seed=replicate,
            progress=False,
        )
        draws = {name: values[:, -1] for name, values in posterior.draws.items()}
        for point in (truth, draws):
            point["likelihood"] = stats.norm.logpdf(
                records[:, None], point["mean"], np.exp(point["log_sd"])
            ).sum(axis=0)
        for name, value in truth.items():
            found[name].append(int((draws[name] < value).sum()))
    return {name: np.array(values) for name, values in found.items()}


def p_value_of_uniform(values: np.ndarray) -> float:
    """Chi-square test that ranks 0 … RANKED fall evenly into BINS."""
    counts = np.bincount(values * BINS // (RANKED + 1), minlength=BINS)
    return float(stats.chisquare(counts).pvalue)


def is_calibrated(found: dict[str, np.ndarray]) -> bool:
    """Whether all ranks look uniform; the three tests share FALSE_ALARM."""
    level = FALSE_ALARM / len(found)
    return all(p_value_of_uniform(values) > level for values in found.values())


@pytest.fixture(autouse=True)
def few_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short runs in one chunk, which changes no draw and takes less time."""
    monkeypatch.setattr("dpmcmc.sampling.chain._FEWEST_CHUNKS", 1)


def test_calibration_by_simulation() -> None:
    assert is_calibrated(ranks(calibration_model(), replicates=QUICK))


@pytest.mark.slow
def test_calibration_by_more_simulation() -> None:
    assert is_calibrated(ranks(calibration_model(), replicates=20 * REPLICATES))


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [{"prior_sd": 0.6}, {"noise": 1.3}], ids=str)
def test_the_calibration_check_can_fail(wrong: dict[str, float]) -> None:
    assert not is_calibrated(ranks(calibration_model(**wrong)))


@pytest.mark.slow
def test_the_calibration_check_sees_a_clip() -> None:
    """A clip in effect draws towards the prior; the ranks of the likelihood say so."""
    found = ranks(calibration_model(), replicates=QUICK, clip=0.1)
    assert not is_calibrated(found)


# Clipping in effect.


def test_a_tiny_clip_leaves_the_prior() -> None:
    """With N·B far below 1 the records move no decision: the chain draws the prior.

    Each acceptance probability is within N·B/4 = 2.5e-5 of the one without records.
    """
    records = np.random.default_rng(6).normal(5.0, 2.0, size=100)
    posterior = dpmcmc.sample_not_private(
        normal_mean,
        records,
        steps=12_000,
        method=dpmcmc.Barker(clip=1e-6, proposal=dpmcmc.RandomWalk(1.2)),
        seed=6,
        chains=4,
        progress=False,
    )
    assert_right(posterior, {"theta": Truth(1.0, 0.5)})
    assert misses(posterior, normal_mean_truth(records))


def test_a_clip_draws_the_clipped_target() -> None:
    """A clipped chain is the Barker chain of the clipped ratios, and no other.

    Two points only are visited in turn by a chain whose acceptance probability is
    known: from 0 to 1 it is σ(Σ clip(r)), and back it is σ(−Σ clip(r)).
    """
    records = np.array([5.0, 0.6, -0.2], np.float32)
    clip = 0.3
    unclipped = np.array([5.0 - 0.5, 0.6 - 0.5, -0.2 - 0.5])
    log_odds = np.clip(unclipped, -clip, clip).sum()
    posterior = dpmcmc.sample_not_private(
        dpmcmc.Model(
            lambda theta, record: -((record - theta) ** 2) / 2,
            lambda theta: 0.0 * theta,
            initial=0.0,
        ),
        records,
        steps=20_000,
        warmup=0,
        method=dpmcmc.Barker(clip=clip, proposal=Flip()),
        seed=7,
        chains=2,
        progress=False,
    )
    before = np.concatenate(
        [np.zeros((2, 1)), posterior.draws["theta"][:, :-1]], axis=1
    )
    assert set(np.unique(before)) == {0.0, 1.0}
    level = FALSE_ALARM / 2
    for point, sign in [(0.0, 1), (1.0, -1)]:
        bits = posterior.accepted[before == point]
        right = special.expit(sign * log_odds)
        assert stats.binomtest(int(bits.sum()), bits.size, right).pvalue > level
        wrong = special.expit(sign * unclipped.sum())
        assert stats.binomtest(int(bits.sum()), bits.size, wrong).pvalue < level
