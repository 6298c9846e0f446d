# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What the last release asks of a record: tight gradients, the excess, the final one.

Of a logistic regression, where each record might have had one of two responses.
"""

from typing import Any

import hypothesis.strategies as some
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given

from dpmcmc import Model
from dpmcmc.influence.derivatives import Frame
from dpmcmc.model.responses import nodes_of
from dpmcmc.sampling.fit.hessians import IN_CONE
from dpmcmc.sampling.fit.last_questions import (
    FinalAnswer,
    FinalPublic,
    LastAnswer,
    LastPublic,
    Tight,
)
from dpmcmc.sampling.fit.questions import Public

SIZE = 2
RESPONSES = {"y": (0.0, 1.0)}


def log_likelihood(theta: jax.Array, record: dict[str, jax.Array]) -> jax.Array:
    eta = record["x"] @ theta
    return record["y"] * eta - jax.nn.softplus(eta)


MODEL = Model(
    log_likelihood,
    lambda theta: -jnp.sum(theta**2),
    np.zeros(SIZE),
    responses=RESPONSES,
)
TIGHT = Tight(jnp.asarray, nodes_of(RESPONSES))
PLAIN = Tight(jnp.asarray, None)

numbers = some.floats(-4, 4, allow_subnormal=False)
covariates = some.tuples(numbers, numbers)
points = some.tuples(some.floats(-1.5, 1.5), some.floats(-1.5, 1.5))
bounds = some.floats(0.1, 10.0)


def public(theta: Any, typical: float = 1.0) -> Public:
    metric = np.array([1.0, 0.7])
    return Public(Frame(np.array(theta, float), np.eye(SIZE)), metric, typical)


def record_of(x: Any, y: float) -> dict[str, np.ndarray]:
    return {"x": np.array(x, float), "y": np.array(y, float)}


def gradients(x: Any, theta: Any) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of both responses, and gradients with each, over the metric."""
    chance = 1 / (1 + np.exp(-np.dot(x, theta)))
    rows = np.array([(y - chance) * np.array(x) / [1.0, 0.7] for y in (0, 1)])
    return np.array([1 - chance, chance]), rows


def clipped(rows: np.ndarray, bound: float) -> np.ndarray:
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.asarray(rows * np.minimum(1, bound / np.maximum(lengths, 1e-12)))


def remains(chances: np.ndarray, rows: np.ndarray, bound: float) -> float:
    """The longest expectation that four iterations may leave."""
    bias = float(np.linalg.norm(chances @ clipped(rows, bound)))
    is_one_free = np.min(np.linalg.norm(rows, axis=1)) <= bound
    return bias * (float(np.min(chances)) ** 4 if is_one_free else 1.0) + 1e-9


@jax.jit
def near_ones(x: jax.Array, at: Public, pair: jax.Array) -> Any:
    """Gradients of both responses with both bounds, and expectations."""

    def one(y: jax.Array) -> Any:
        record = {"x": x, "y": y}
        eta = x @ jnp.asarray(at.frame.centre)
        scaled = (y - jax.nn.sigmoid(eta)) * x / at.metric
        near, kept = TIGHT(MODEL, record, scaled, at, (pair[0], pair[1]))
        return jnp.stack(near), kept

    return jax.vmap(one)(jnp.array([0.0, 1.0]))


@pytest.fixture(autouse=True)
def exact() -> Any:
    with jax.enable_x64(True):
        yield


@given(x=covariates, theta=points, pair=some.tuples(bounds, bounds))
def test_tight_gradients_have_expectation_zero_over_responses(
    x: Any, theta: Any, pair: tuple[float, float]
) -> None:
    """At every bound, within what four iterations leave; and none is longer than it.

    The response that is less probable, by p, has the longer gradient. If only that is
    clipped, each iteration multiplies what is left by p: p⁴ of the bias of plain
    clipping are left at the end. If both are, it is not more than that of clipping.
    """
    near, _ = near_ones(np.array(x), public(theta), np.array(pair))
    chances, rows = gradients(x, theta)
    for index, bound in enumerate(pair):
        own = np.asarray(near)[:, index]
        assert np.all(np.linalg.norm(own, axis=1) <= bound * (1 + 1e-9))
        assert np.linalg.norm(chances @ own) <= remains(chances, rows, bound)


@given(x=covariates, theta=points)
def test_a_bound_that_clips_nothing_leaves_gradients_as_they_are(
    x: Any, theta: Any
) -> None:
    _, rows = gradients(x, theta)
    near, kept = near_ones(np.array(x), public(theta), np.array([50.0, 60.0]))
    np.testing.assert_allclose(np.asarray(near)[:, 0], rows, atol=1e-12)
    np.testing.assert_allclose(np.asarray(near)[:, 1], rows, atol=1e-12)
    np.testing.assert_allclose(kept[:, 0], kept[:, 1], atol=1e-12)


def test_what_is_kept_is_an_expectation_over_responses() -> None:
    """Of |g|² and of what is inside, over the bound; and how probable a long one is."""
    x, theta, bound = (2.0, -1.0), (1.2, 0.6), 1.5
    chances, rows = gradients(x, theta)
    lengths = np.linalg.norm(rows, axis=1)
    at = public(theta, typical=0.5)
    near, kept = near_ones(np.array(x), at, np.array([bound, 2 * bound]))
    inside = chances @ np.sum(np.asarray(near)[:, 0] * rows, axis=1) / bound**2
    squares = chances @ lengths**2 / bound**2
    is_long = lengths > 2.8 * 0.5
    assert 0 < chances @ is_long < 1
    expected = np.clip([inside, squares, chances @ is_long], 0, 1) / np.sqrt(3)
    np.testing.assert_allclose(kept, [expected, expected], atol=1e-9)


@jax.jit
def last_answer(record: Any, asked: LastPublic) -> tuple[jax.Array, jax.Array]:
    answer = LastAnswer(TIGHT)(MODEL, record, asked)
    return answer.free, answer.positive


@jax.jit
def final_answer(record: Any, asked: FinalPublic) -> jax.Array:
    return FinalAnswer(TIGHT)(MODEL, record, asked)


def answered(
    record: Any, tight: float, wide: float, theta: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Both gradients in their own units, and fractions of the budget for each."""
    parts = np.sqrt([0.3, 0.5, 0.15, 0.05])
    asked = LastPublic(public(theta), tight, wide, 1e3, parts)
    free, positive = (np.asarray(part) for part in last_answer(record, asked))
    near = free[:SIZE] / parts[0] * tight
    far = free[SIZE : 2 * SIZE] / parts[1] * (wide - tight)
    return near, far, positive, free


@given(x=covariates, theta=points, y=some.sampled_from([0, 1]), tight=bounds)
def test_both_parts_are_the_gradient_clipped_without_bias_at_the_wide_bound(
    x: Any, theta: Any, y: int, tight: float
) -> None:
    """Where the room for the excess does not clip that; else it is as long as that."""
    wide, record = 3.0 * tight, record_of(x, y)
    near, far, _, _ = answered(record, tight, wide, theta)
    both, _ = near_ones(np.array(x), public(theta), np.array([tight, wide]))
    own, whole = np.asarray(both)[y]
    np.testing.assert_allclose(near, own, atol=1e-9)
    room = wide - tight
    if np.linalg.norm(whole - own) <= room:
        np.testing.assert_allclose(near + far, whole, atol=1e-9)
    else:
        np.testing.assert_allclose(far, clipped(whole - own, room), atol=1e-9)


@given(x=covariates, theta=points, tight=bounds)
def test_the_excess_has_expectation_zero_where_the_room_does_not_bind(
    x: Any, theta: Any, tight: float
) -> None:
    """It is the difference of two that have, each but for what iterations leave."""
    wide = 3.0 * tight
    near, _ = near_ones(np.array(x), public(theta), np.array([tight, wide]))
    rest = np.asarray(near)[:, 1] - np.asarray(near)[:, 0]
    if np.max(np.linalg.norm(rest, axis=1)) > wide - tight:
        return
    chances, rows = gradients(x, theta)
    far = [answered(record_of(x, y), tight, wide, theta)[1] for y in (0, 1)]
    most = remains(chances, rows, tight) + remains(chances, rows, wide)
    assert np.linalg.norm(chances @ np.array(far)) <= most


@pytest.mark.parametrize("y", [0, 1])
def test_without_a_tight_part_all_is_in_the_other(y: int) -> None:
    """Clipped at the wide bound, plainly."""
    x, theta, wide = (2.0, -1.0), (1.2, 0.6), 0.9
    parts = np.sqrt([0.0, 0.8, 0.2, 0.0])
    asked = LastPublic(public(theta), 0.5, wide, 1e3, parts)
    _, rows = gradients(x, theta)
    for tight in (PLAIN, TIGHT):
        free = np.asarray(LastAnswer(tight)(MODEL, record_of(x, y), asked).free)
        np.testing.assert_array_equal(free[:SIZE], 0)
        far = free[SIZE : 2 * SIZE] / parts[1] * wide
        np.testing.assert_allclose(far, clipped(rows[y], wide), atol=1e-9)


@given(x=covariates, theta=points, y=some.sampled_from([0, 1]), bound=bounds)
def test_all_parts_are_within_what_they_may_be(
    x: Any, theta: Any, y: int, bound: float
) -> None:
    """Free ones with their fractions; the expectations with theirs, in a cone."""
    record = record_of(x, y)
    _, _, positive, free = answered(record, bound, 2 * bound, theta)
    assert np.sum(free**2) <= 0.95 * (1 + 1e-9)
    assert np.all(positive >= 0)
    assert np.linalg.norm(positive) <= IN_CONE * np.sqrt(0.05) * (1 + 1e-9)


@given(
    x=covariates,
    theta=points,
    y=some.sampled_from([0, 1]),
    bound=bounds,
    is_tight=some.booleans(),
)
def test_the_final_answer_is_at_most_one_long(
    x: Any, theta: Any, y: int, bound: float, is_tight: bool
) -> None:
    """The tight gradient, or the plainly clipped one, in units of the bound."""
    asked = FinalPublic(public(theta), bound, is_tight)
    found = np.asarray(final_answer(record_of(x, y), asked))
    assert np.linalg.norm(found) <= 1 + 1e-9
    near, _ = near_ones(np.array(x), public(theta), np.array([bound, bound]))
    _, rows = gradients(x, theta)
    expected = np.asarray(near)[y, 0] if is_tight else clipped(rows[y], bound)
    np.testing.assert_allclose(found, expected / bound, atol=1e-9)


@pytest.mark.parametrize("is_tight", [False, True])
@pytest.mark.parametrize("x", [(1e30, 0.0), (np.inf, 0.0), (np.nan, 1.0)])
def test_a_record_that_is_no_number_is_still_bounded(x: Any, is_tight: bool) -> None:
    """As it leaves the question, or none at all: the boundary takes none for zero."""
    asked = FinalPublic(public((0.5, 0.5)), 2.0, is_tight)
    found = np.asarray(final_answer(record_of(x, 1), asked))
    assert not np.linalg.norm(found) > 1 + 1e-6
