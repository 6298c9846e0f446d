# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Where decisions would tell nothing, draws are of the noisy quadratic alone."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from test_verdict import MIXED, fitted

import dpmcmc
from dpmcmc import Model, Posterior
from dpmcmc.influence.alone import QuadraticAlone
from dpmcmc.sampling.checkpoint import MemoryCheckpoint
from dpmcmc.sampling.fit.basis import Basis
from dpmcmc.sampling.fit.fitted import MOST_MISFIT, Fitted
from dpmcmc.sampling.fit.stage import Fit
from dpmcmc.sampling.stages import Part
from dpmcmc.sampling.verdict import verdict_on

SIZE, EPSILON = 6000, 0.5


def log_likelihood(theta: Any, record: Any) -> Any:
    eta = jnp.dot(record["x"], theta["b"])
    return record["y"] * eta - jnp.logaddexp(0.0, eta)


MODEL = Model(
    log_likelihood, lambda theta: -jnp.sum(theta["b"] ** 2) / 8, {"b": np.zeros(4)}
)


@pytest.fixture(scope="module")
def records() -> dict[str, np.ndarray]:
    generator = np.random.default_rng(3)
    x = generator.normal(size=(SIZE, 4)).astype("float32")
    x[:, 0] = 1
    odds = np.exp(x @ [-0.5, 1.0, -0.5, 0.2])
    y = (generator.random(SIZE) < odds / (1 + odds)).astype("float32")
    return {"x": x, "y": y}


WHOLE = Basis(np.eye(4), np.eye(4), np.zeros((4, 0)))
STAGE = Fit(1.0, 1.0, WHOLE, 1.0, 1.0, jnp.asarray)
"""Any fit: what it found is read, and nothing asked."""


class Watched(MemoryCheckpoint):
    """A checkpoint that can interrupt a run at one chunk of the chain."""

    def __init__(self, stop: int | None = None) -> None:
        super().__init__()
        self._left = stop

    def keep(self, stage: str, part: Part) -> None:
        if stage == "chain" and self._left is not None:
            if not self._left:
                self._left = None
                raise RuntimeError
            self._left -= 1
        super().keep(stage, part)


def draw(records: Any, checkpoint: MemoryCheckpoint) -> Posterior:
    return dpmcmc.sample(
        MODEL,
        records,
        epsilon=EPSILON,
        delta=1e-6,
        checkpoint=checkpoint,
        progress=False,
    )


@pytest.fixture(scope="module")
def found(records: Any) -> tuple[Posterior, MemoryCheckpoint]:
    """A run whose decisions would cut too much: made so, whatever the noise was."""
    make = Fit.found

    def noisy(self: Fit, parts: Any) -> Any:
        fit = make(self, parts)
        return fit and replace(
            fit,
            misfit=MOST_MISFIT + 1,
            missed=0.5 * fit.uncertain,
            arrived=True,
            is_flat=False,
        )

    checkpoint = Watched(stop=20)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Fit, "found", noisy)
        with pytest.raises(dpmcmc.StoppedError):
            draw(records, checkpoint)
        assert 0 < len(checkpoint.kept("chain")) <= 20
        return draw(records, checkpoint), checkpoint


def test_no_decision_is_charged_or_made(found: Any) -> None:
    posterior, checkpoint = found
    assert checkpoint.charged("fit")
    assert not checkpoint.charged("chain")
    assert not checkpoint.charged("check")
    assert not checkpoint.kept("check")
    rows = {row.name: row.sentence for row in posterior.statement.stages}
    assert "no record is read" in rows["chain"]
    assert "not asked" in rows["check"]


def test_a_run_goes_on_where_it_was_interrupted(found: Any) -> None:
    posterior, checkpoint = found
    steps = [len(part.arrays["accepted"]) for part in checkpoint.kept("chain")]
    assert sum(steps) == 2500
    assert posterior.draws["b"].shape == (4, 2375, 4)


def log_density(fit: Fitted, thetas: np.ndarray) -> np.ndarray:
    """log N(g; Kv, K + S + ½ (v · Rv R + Rv vᵀR)), by rows of θ."""
    v = (thetas - fit.point) @ fit.inverse.T
    known, own = -fit.hessian, fit.curvature_noise
    along = v @ own
    of_curvature = np.einsum("ni,ni->n", v, along)[:, None, None] * own
    of_curvature = of_curvature + along[:, :, None] * along[:, None, :]
    covariance = known + fit.noise + of_curvature / 2
    rest = fit.gradient - v @ known
    solved = np.linalg.solve(covariance, rest[:, :, None])[:, :, 0]
    return -(np.einsum("ni,ni->n", rest, solved) + np.linalg.slogdet(covariance)[1]) / 2


def test_draws_are_of_the_prior_and_the_noisy_likelihood(found: Any) -> None:
    """Means within 5 standard errors by ESS, sd within a fifth.

    Exact moments are by importance sampling, from a wider normal at the mean.
    """
    posterior, checkpoint = found
    fit = STAGE.found(checkpoint.kept("fit"))
    assert fit is not None
    draws = posterior.draws["b"].reshape(-1, 4)
    other = stats.multivariate_normal(draws.mean(axis=0), 2 * np.cov(draws.T), seed=0)
    points = other.rvs(100_000)
    prior = -np.sum(points**2, axis=1) / 8
    logs = log_density(fit, points) + prior - other.logpdf(points)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    assert 1 / np.sum(weights**2) > 10_000
    mean = weights @ points
    sd = np.sqrt(weights @ (points - mean) ** 2)
    ess = posterior.summary()["ess_bulk"].to_numpy(float)
    assert np.all(np.abs(draws.mean(axis=0) - mean) < 5 * sd / np.sqrt(ess))
    np.testing.assert_allclose(draws.std(axis=0), sd, rtol=0.2)


def test_the_likelihood_is_that_of_the_noisy_quadratic() -> None:
    """Tempered: g and K are half of what was released, to which all noise belongs."""
    generator = np.random.default_rng(1)
    one, two, three = generator.normal(size=(3, 2, 2))
    tempered = 0.5
    fit = fitted(
        gradient=generator.normal(size=2),
        hessian=-one @ one.T - np.eye(2),
        noise=3 * two @ two.T,
        curvature_noise=three @ three.T,
        inverse=generator.normal(size=(2, 2)),
        point=generator.normal(size=2),
    )
    points = generator.normal(size=(20, 2))
    halved = replace(fit, gradient=fit.gradient / 2, hessian=fit.hessian / 2)
    alone = QuadraticAlone.of(fit.point, fit.inverse, fit.noisy(tempered))
    with jax.enable_x64(True):
        ours = [
            float(alone.log_likelihood(alone.inverse @ (at - alone.centre)))
            for at in points
        ]
    differences = np.subtract(ours, log_density(halved, points))
    np.testing.assert_allclose(differences, differences[0], atol=1e-9)


@pytest.mark.parametrize(
    ("changes", "is_alone"),
    [
        ({}, True),
        ({"misfit": 1.0}, True),
        ({"misfit": 1.0, "uncertain": 0.1}, True),
        ({"misfit": 1.0, "uncertain": 0.1, "missed": 1.1}, False),
        ({"uncertain": 0.1}, False),
        ({"missed": 2.0}, False),
        ({"missed": 2.0, "uncertain": 2.1}, True),
        ({"missed": np.inf, "uncertain": np.inf}, False),
        ({"arrived": False}, True),
        ({"is_flat": True}, True),
    ],
)
def test_it_is_alone_if_little_is_missed(changes: Any, is_alone: bool) -> None:
    """Wherever it was found, and flat or not: draws hold the noise of its curvature."""
    fit = fitted(**{"misfit": 5.0, "missed": 0.5, "uncertain": 1.0, **changes})
    assert fit.is_alone == is_alone
    so_far = {"fit": [Part("found", fit.arrays())]}
    objection = STAGE.objection(None, so_far)  # type: ignore[arg-type]
    assert (objection is None) == (is_alone or fit.misfit < MOST_MISFIT)


@pytest.mark.parametrize(
    ("missed", "uncertain", "is_refused"),
    [(1.9, 0.1, False), (2.1, 0.1, True), (9.0, 10.0, False), (11.0, 10.0, True)],
)
def test_what_no_quadratic_holds_is_refused_unless_noise_hides_it(
    missed: float, uncertain: float, is_refused: bool
) -> None:
    """Even if no decision would be clipped: a ridge whose records are many."""
    fit = fitted(misfit=0.0, missed=missed, uncertain=uncertain)
    so_far = {"fit": [Part("found", fit.arrays())]}
    objection = STAGE.objection(None, so_far)  # type: ignore[arg-type]
    assert (objection is not None) == is_refused
    assert objection is None or "far from quadratic" in objection


def test_noise_is_measured_as_decisions_see_it() -> None:
    """A gradient with noise of covariance S: a move m changes by N(0, mᵀ S m)."""
    noise, covariance = np.diag([4.0, 1.0]), np.diag([0.1, 0.2])
    fit = fitted(covariance=covariance, shift=covariance @ noise @ covariance)
    moves = np.array([[1.0, 0.0], [0.0, 3.0]])
    assert fit.differences(moves) == pytest.approx(np.sqrt((4 + 9) / 2))


@pytest.mark.parametrize(
    ("misfit", "missed", "usability"),
    [
        (0.0, 0.5, "usable"),
        (5.0, 0.5, "usable with wide intervals"),
        (0.0, 2.5, "usable with wide intervals"),
    ],
)
def test_it_is_usable(misfit: float, missed: float, usability: str) -> None:
    """Where noise hides how much there is to decide, it is with wide intervals."""
    fit = fitted(misfit=misfit, missed=missed, uncertain=3.0)
    assert fit.is_alone
    assert verdict_on(fit, None, MIXED).usability == usability


@pytest.mark.parametrize(("power", "scale"), [(3, 0.1), (4, 0.025)])
def test_what_is_negligible_moves_moments_by_little(power: int, scale: float) -> None:
    """A term c·xᵖ that misses 1 on moves of twice the scatter, by the integral.

    Cubic: the mean by 0.1 posterior sd. Quartic: the sd by a fortieth.
    """
    moments = {3: 15.0, 4: 105.0 - 9.0}
    missed = np.sqrt(2 * moments[power]) * 2.0**power
    x = np.linspace(-6, 6, 4001)
    density = np.exp(-(x**2) / 2 - np.abs(x) ** power / missed * np.sign(x) ** power)
    density /= density.sum()
    mean = density @ x
    sd = np.sqrt(density @ (x - mean) ** 2)
    assert abs(mean) < 1.1 * scale
    assert abs(sd - 1) < 0.03
