# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Hessians as roots in a cone: the same sums as by entries, with less noise."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from oracle import Oracle, logistic_derivatives
from test_rounds import prior_of, unravel

from dpmcmc import Model
from dpmcmc.influence.derivatives import Frame, derivatives, gradient_and_root
from dpmcmc.private import Records, Tape, release_sum
from dpmcmc.sampling.fit.asking import Ask
from dpmcmc.sampling.fit.basis import Basis
from dpmcmc.sampling.fit.hessians import hessian_of_entries
from dpmcmc.sampling.fit.last_questions import (
    FinalAnswer,
    FinalPublic,
    LastAnswer,
    LastPublic,
    Tight,
)
from dpmcmc.sampling.fit.look import CLOSE, Least, Look, ask_round
from dpmcmc.sampling.fit.place import Place, Setting
from dpmcmc.sampling.fit.questions import RoundAnswer, RoundPublic

SIZE, RECORDS = 5, 20_000
MODEL = Model(
    lambda theta, r: r["y"] * (eta := r["x"] @ theta) - jax.nn.softplus(eta),
    lambda theta: -jnp.sum(theta**2),
    np.zeros(SIZE),
)
POINT = np.linspace(-0.5, 0.5, SIZE)


@cache
def table() -> dict[str, np.ndarray]:
    generator = np.random.default_rng(0)
    x = generator.normal(size=(RECORDS, SIZE))
    y = generator.random(RECORDS) < 1 / (1 + np.exp(-x @ POINT))
    return {"x": x, "y": y.astype(float)}


def place(is_concave: bool) -> Place:
    """The mode, in coordinates in which the curvature is about the identity."""
    basis = Basis(np.eye(SIZE), np.eye(SIZE), np.zeros((SIZE, 0)))
    setting = Setting(basis, prior_of(SIZE), RECORDS, 1.0, is_concave=is_concave)
    _, hessians = logistic_derivatives(**table())(POINT)
    root = np.linalg.cholesky(np.linalg.inv(-hessians.mean(axis=0)))
    return Place(setting, POINT, root, np.ones(SIZE))


def released(ask: Ask, noise: float = 1e-6) -> np.ndarray:
    """What the boundary makes of a question, with next to no noise."""
    return release_sum(
        MODEL,
        Records(table()),
        ask.question,
        ask.public,
        Tape.seeded(1),
        noise=noise,
        dtype="float64",
        devices=jax.devices()[:1],
    )


PARTS = np.sqrt([0.5, 0.1, 0.4])
LAST_PARTS = np.sqrt([0.0, 0.6, 0.3, 0.1])


def asks(is_concave: bool) -> list[Ask]:
    """The questions of a round and of the last release; bounds that clip some."""
    at = place(is_concave).public
    bound = 1.5 * at.typical
    round_public = RoundPublic(at, bound, bound, 2.0 * SIZE, PARTS)
    last_public = LastPublic(at, bound, bound, 2.0 * SIZE, LAST_PARTS)
    tight = Tight(jnp.asarray, None)
    return [
        Ask(RoundAnswer(jnp.asarray, is_concave), round_public, 1.0),
        Ask(LastAnswer(tight, is_concave), last_public, 1.0),
        Ask(FinalAnswer(tight), FinalPublic(at, bound, False), is_final=True),
    ]


@pytest.mark.parametrize("which", [0, 1, 2], ids=["round", "last", "final"])
@pytest.mark.parametrize("is_concave", [False, True])
def test_released_sums_are_those_of_plain_numpy(is_concave: bool, which: int) -> None:
    """Roots are rounded by an sd of 1/√12 of 1/190, each way: within 5 sd of the sum.

    Noise of 1e-6, and numbers that are cut to multiples of 1e-6, are below it.
    """
    ask = asks(is_concave)[which]
    expected = Oracle(logistic_derivatives(**table()))._exact(ask)
    found = released(ask)
    step = np.sqrt(2 / 12 * RECORDS) / np.sqrt(2**20 / 29)
    tolerance = 5 * step if is_concave else 0.0
    np.testing.assert_allclose(found, expected, atol=0.03 + tolerance, rtol=1e-6)


@pytest.mark.parametrize("which", [0, 1], ids=["round", "last"])
def test_roots_make_the_sums_that_entries_make(which: int) -> None:
    """The same Hessian, in units of the bound, within what rounding may change."""
    found = []
    for is_concave in (False, True):
        ask = asks(is_concave)[which]
        rows = ask.question.split(released(ask), SIZE)  # type: ignore[attr-defined]
        lengths = ask.public.parts * ask.question.longer  # type: ignore[attr-defined]
        pairs = zip(rows, lengths, strict=True)
        found.append([row / max(length, 1e-9) for row, length in pairs])
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=0.005, atol=5.0)
    hessian = hessian_of_entries(found[1][2], SIZE)
    assert np.all(np.linalg.eigvalsh(hessian) < 0)


def test_a_root_is_that_of_the_hessian() -> None:
    record = {"x": jnp.arange(1.0, 1.0 + SIZE), "y": jnp.ones(())}
    turn = np.random.default_rng(1).normal(size=(SIZE, 3))
    frame = Frame(POINT, turn)
    first, hessian = derivatives(MODEL, record, frame, jnp.asarray)
    again, root = gradient_and_root(MODEL, record, frame, jnp.asarray)
    np.testing.assert_allclose(first, again)
    np.testing.assert_allclose(-np.outer(root, root), hessian, rtol=1e-5)


def test_where_it_is_convex_a_root_is_zero_and_no_number_stays_none() -> None:
    convex = Model(
        lambda theta, r: r["y"] * (r["x"] @ theta) ** 2,
        lambda theta: 0.0,
        np.zeros(SIZE),
    )
    frame = Frame(POINT, np.eye(SIZE))

    def root(y: float) -> jax.Array:
        record = {"x": jnp.ones(SIZE), "y": jnp.asarray(y)}
        return gradient_and_root(convex, record, frame, jnp.asarray)[1]

    np.testing.assert_array_equal(root(1.0), np.zeros(SIZE))
    np.testing.assert_allclose(root(-2.0), 2.0 * np.ones(SIZE))
    assert np.all(np.isnan(root(np.nan)))


def test_several_predictors_are_refused() -> None:
    several = Model(
        lambda theta, r: -jnp.sum((r["x"] - theta) ** 2),
        lambda theta: 0.0,
        np.zeros(SIZE),
    )
    with pytest.raises(ValueError, match="no such root"):
        gradient_and_root(
            several,
            {"x": jnp.ones(SIZE), "y": jnp.ones(())},
            Frame(POINT, np.eye(SIZE)),
            jnp.asarray,
        )


def looked(is_concave: bool, seed: int) -> Look:
    oracle = Oracle(logistic_derivatives(**table()), mu=3.0, seed=seed)
    return oracle.drive(ask_round(place(is_concave), CLOSE, Least(), unravel))


def test_noise_of_a_round_falls_as_it_should() -> None:
    """At the same cost: by √2 for the Hessian's fraction, some of which gradients get.

    A Hessian's fraction falls from r/(1 + r) to r/(√2 + r) of what both have, with
    r = 0.3√d. So errors that were made should scatter.
    """
    ratio = 0.3 * np.sqrt(SIZE)
    hessian = np.sqrt((np.sqrt(2) + ratio) / (1 + ratio) / 2)
    gradient = np.sqrt((1 + ratio / np.sqrt(2)) / (1 + ratio))
    free, cone = ([looked(kind, seed) for seed in range(160)] for kind in (False, True))
    noises = [[one.noise[0] / one.bound for one in looks] for looks in (free, cone)]
    np.testing.assert_allclose(np.divide(noises[1], noises[0]), gradient, rtol=1e-6)

    def errors(looks: list[Look]) -> np.ndarray:
        rows, columns = np.triu_indices(SIZE)
        times = np.where(rows == columns, 1.0, np.sqrt(2))
        # of two rounds, so that what the bound cuts, the same in both, falls out
        found = [times * look.curvature[rows, columns] for look in looks]
        return np.diff(found, axis=0)[::2] / np.sqrt(2)

    found = errors(cone).std() / errors(free).std()
    # 80 × 15 numbers each, of which a sd errs by 1/√2400 of itself: 5 sd of the ratio
    assert found == pytest.approx(hessian, rel=5 * np.sqrt(2 / 2400))
    said = np.mean([one.curvature_noise for one in cone])
    assert said < 0.9 * np.mean([one.curvature_noise for one in free])
