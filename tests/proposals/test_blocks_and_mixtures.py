# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Blocks and mixtures: the right parts move, and detailed balance holds exactly."""

import itertools
import math
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.special import softmax
from words import FALSE_ALARM, barker_kernel, exact_law, key, moves, propose_all

import dpmcmc
from dpmcmc.errors import InputError
from dpmcmc.proposals import (
    Adaptive,
    BitFlips,
    Blocks,
    BoundedWalk,
    CategoricalWalk,
    Custom,
    Independence,
    IntegerWalk,
    LogNormalWalk,
    Mixture,
    RandomWalk,
    Swap,
    reach_of,
)

MIXED = {
    "level": jnp.float32(0.5),
    "group": {"scale": jnp.array([1.0, 2.0], jnp.float32), "on": jnp.zeros(3, bool)},
    "place": jnp.int32(4),
}
PARTS = {
    "level": RandomWalk(0.1),
    "group.scale": LogNormalWalk(0.3),
    "group.on": BitFlips(),
    "place": IntegerWalk(1, 0, 9),
}


def changed(proposed, theta=MIXED):
    """For each leaf and draw, whether it moved."""
    return jax.tree.map(
        lambda new, old: np.any(
            np.reshape(new != np.asarray(old), (len(new), -1)), axis=1
        ),
        proposed,
        theta,
    )


# Asymmetric proposals on {0, 1, 2, 3}, whose chances are multiples of 1/4.


def turn(theta, noise):
    """Up with chance ¾, down with chance ¼, around a circle of four."""
    up = noise.uniforms(1)[0] < 0.75
    shift = jnp.where(up, 1, 3).astype(theta.dtype)
    return (theta + shift) % 4, jnp.where(up, -1, 1) * math.log(3.0)


def anew(theta, noise):
    """0 with chance ½, else 1 or 2 with chance ¼ each; never 3."""
    new = jnp.array([0, 0, 1, 2])[(noise.uniforms(1)[0] * 4).astype(int)]
    chances = jnp.array([0.5, 0.25, 0.25, 0.0])
    return new.astype(theta.dtype), jnp.log(chances[theta]) - jnp.log(chances[new])


CIRCLE = [jnp.int32(value) for value in range(4)]
LOG_TARGET = np.log([0.4, 0.1, 0.3, 0.2])


def imbalance(kernel, log_target):
    flow = np.exp(log_target)[:, None] * kernel
    return np.max(np.abs(flow - flow.T))


def test_a_mixture_with_each_parts_own_ratio_keeps_detailed_balance():
    """By enumeration of all words; and it does not with a ratio left out."""
    parts = [(1, Custom(turn)), (2, Custom(anew)), (1, CategoricalWalk(4))]
    right = barker_kernel(Mixture(parts), CIRCLE, 12, LOG_TARGET)
    assert imbalance(right, LOG_TARGET) < 1e-7
    np.testing.assert_allclose(np.exp(LOG_TARGET) @ right, np.exp(LOG_TARGET), 1e-6)
    assert np.all(np.linalg.matrix_power(right, 3) > 0)
    forgetful = Custom(lambda theta, noise: turn(theta, noise)[0])
    wrong = Mixture([(1, forgetful), *parts[1:]])
    assert imbalance(barker_kernel(wrong, CIRCLE, 12, LOG_TARGET), LOG_TARGET) > 1e-2


def test_blocks_of_asymmetric_parts_keep_detailed_balance():
    """Together the ratios add; one at a time the chosen block's own is used."""
    states = [
        {"a": jnp.int32(a), "b": jnp.int32(b)}
        for a, b in itertools.product(range(4), range(4))
    ]
    log_target = np.log(np.random.default_rng(9).dirichlet(np.ones(16)))
    parts = {"a": Custom(turn), "b": Custom(anew)}
    for together in (True, False):
        kernel = barker_kernel(Blocks(parts, together), states, 4, log_target)
        assert imbalance(kernel, log_target) < 1e-7


@pytest.mark.slow
def test_all_kinds_of_discrete_blocks_are_symmetric_together_and_apart():
    """48 states of a boolean pair, a category, and an integer, by enumeration."""
    states = [
        {"bits": jnp.array(bits), "kind": jnp.int32(kind), "count": jnp.int32(count)}
        for bits in itertools.product([False, True], repeat=2)
        for kind, count in itertools.product(range(3), range(4))
    ]
    parts = {
        "bits": BitFlips(),
        "kind": CategoricalWalk(3),
        "count": IntegerWalk(1, 0, 3),
    }
    one = Blocks({"bits": BitFlips(), "kind": None, "count": None})
    table = np.array([key(state) for state in states])
    moved = table[:, None] != table[None]
    columns = {"bits": [0, 1], "count": [2], "kind": [3]}
    blocks = np.stack([moved[..., c].any(axis=2) for c in columns.values()], axis=2)
    for proposal, grid, allowed in [
        (Blocks(parts, together=False), 6, blocks.sum(axis=2) <= 1),
        (Blocks(parts), 2, blocks[..., 0] & blocks[..., 2]),
        (one, 2, ~blocks[..., 1] & ~blocks[..., 2]),
    ]:
        chances = exact_law(proposal, states, grid)
        np.testing.assert_allclose(chances.sum(axis=1), 1)
        np.testing.assert_allclose(chances, chances.T, atol=1e-12)
        assert not np.any(chances[~allowed])


def test_together_every_block_moves_by_its_own_law():
    proposed, log_ratio = moves(Blocks(PARTS), MIXED, 20_000, seed=10)
    new = changed(proposed)
    assert np.mean(new["level"]) > 0.999
    assert np.all(new["group"]["on"])
    assert np.all(new["place"])
    logs = np.log(proposed["group"]["scale"]) - np.log([1.0, 2.0])
    np.testing.assert_allclose(log_ratio, logs.sum(axis=1), atol=1e-5)
    for column in logs.T:
        assert stats.kstest(column / 0.3, stats.norm.cdf).pvalue > FALSE_ALARM / 3
    steps = (proposed["level"] - 0.5) / 0.1
    assert stats.kstest(steps, stats.norm.cdf).pvalue > FALSE_ALARM / 3


def test_one_block_at_a_time_is_chosen_uniformly_with_its_own_ratio():
    count = 40_000
    proposed, log_ratio = moves(Blocks(PARTS, together=False), MIXED, count, seed=11)
    new = np.stack(jax.tree.leaves(changed(proposed)), axis=1)
    assert np.all(new.sum(axis=1) == 1)
    assert stats.chisquare(new.sum(axis=0)).pvalue > FALSE_ALARM
    scales = changed(proposed)["group"]["scale"]
    assert not np.any(log_ratio[~scales])
    logs = np.log(proposed["group"]["scale"]) - np.log([1.0, 2.0])
    np.testing.assert_allclose(log_ratio, logs.sum(axis=1), atol=1e-5)


def test_a_block_can_be_a_subtree_and_a_block_can_stay():
    walk = RandomWalk({"scale": [0.1, 0.2]})
    theta = {"group": {"scale": jnp.ones(2)}, "level": jnp.float32(0)}
    proposed, _ = moves(Blocks({"group": walk, "level": None}), theta, 50, seed=12)
    new = changed(proposed, theta)
    assert np.all(new["group"]["scale"])
    assert not np.any(new["level"])


def test_blocks_name_places_of_any_pytree():
    class Point(NamedTuple):
        slope: jax.Array
        on: jax.Array

    theta = (Point(jnp.float32(1), jnp.array(False)), [jnp.int32(0)])
    parts = {"0.slope": RandomWalk(1.0), "0.on": BitFlips(), "1": CategoricalWalk(3)}
    proposed, _ = moves(Blocks(parts), theta, 50, seed=13)
    assert isinstance(proposed[0], Point)
    assert all(np.all(leaf) for leaf in jax.tree.leaves(changed(proposed, theta)))


def test_a_mixture_takes_its_parts_in_proportion():
    """Three scales far apart, told by the size of a move: chi-square."""
    count, weights = 30_000, np.array([3, 1, 2])
    parts = zip(
        weights.tolist(),
        [IntegerWalk(1), Custom(lambda t, _: t + 10), Custom(lambda t, _: t + 20)],
        strict=True,
    )
    proposed, _ = moves(Mixture(list(parts)), jnp.int32(0), count, seed=14)
    counts = [np.sum(np.abs(proposed - centre) <= 1) for centre in (0, 10, 20)]
    assert sum(counts) == count
    expected = weights / weights.sum() * count
    assert stats.chisquare(counts, expected).pvalue > FALSE_ALARM


def test_a_mixture_of_symmetric_parts_has_no_ratio():
    mixture = Mixture([(0.9, RandomWalk(0.1)), (0.1, BoundedWalk(3.0))])
    _, log_ratio = moves(mixture, jnp.zeros(2), 100, seed=15)
    assert not np.any(log_ratio)


def test_a_part_of_a_mixture_has_its_own_ratio():
    """A part that is at its centre, and one that is symmetric."""
    mixture = Mixture([(1, Independence(0.0, 1.0)), (1, RandomWalk(100.0))])
    proposed, log_ratio = moves(mixture, jnp.float32(0.0), 2000, seed=16)
    near = np.abs(proposed) < 6
    own = np.isclose(log_ratio, proposed.astype(float) ** 2 / 2, atol=1e-5)
    assert 0.4 < np.mean(own) < 0.6
    assert not np.any(log_ratio[~own])
    assert np.all(near[own])


def test_reach_of_parts():
    theta = {"a": jnp.zeros(2), "b": jnp.zeros(3, bool)}
    parts = {"a": BoundedWalk(3.0), "b": BitFlips(2)}
    assert Blocks(parts).reach(theta) == pytest.approx(math.sqrt(11))
    assert Blocks(parts).reach(theta) >= math.sqrt(11)
    assert Blocks(parts, together=False).reach(theta) == 3
    assert Blocks({"a": BoundedWalk(3.0), "b": None}).reach(theta) >= 3
    assert Blocks({"a": RandomWalk(1.0), "b": None}).reach(theta) == math.inf
    mixture = Mixture([(1, BoundedWalk(2.0)), (1, BoundedWalk(1.0, "box"))])
    assert mixture.reach(jnp.zeros(9)) >= 3
    assert Mixture([(1, RandomWalk(1.0))]).reach(jnp.zeros(2)) == math.inf
    assert reach_of(Swap(), jnp.zeros(2)) == math.inf
    assert reach_of(BoundedWalk, jnp.zeros(2)) == math.inf


# Adaptation: a block adapts to its own part of what was released.


class Released(NamedTuple):
    theta: dict
    accepted: jax.Array


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Learner:
    """A kernel that keeps the mean of what it was handed."""

    seen: jax.Array

    def propose(self, theta, noise):
        return theta + noise.normals(1)[0], 0.0

    def adapt(self, released):
        return Learner(jnp.mean(released.theta) + jnp.sum(released.accepted))


@dataclass(frozen=True)
class Learning:
    until: int | None = None

    def fit(self, theta):
        return Learner(jnp.zeros(()))

    def stopping_at(self, warmup):
        return Learning(warmup)


def test_blocks_that_move_together_adapt_each_to_its_own_part():
    theta = {"a": jnp.float32(0), "b": jnp.float32(0)}
    kernel = Blocks({"a": RandomWalk(1.0), "b": Learning()}).fit(theta)
    released = Released({"a": jnp.ones(2), "b": jnp.array([3.0, 5.0])}, jnp.ones(2))
    assert kernel.adapt(released).kernels[1].seen == 6
    assert kernel.adapt(released).kernels[0] is kernel.kernels[0]
    assert not hasattr(Blocks({"a": RandomWalk(1.0), "b": None}).fit(theta), "adapt")


def test_blocks_that_take_turns_adapt_each_to_its_own_turns():
    theta = {"a": jnp.float32(0), "b": jnp.float32(0), "c": jnp.float32(0)}
    parts = {"a": Learning(), "b": Learning(), "c": RandomWalk(1.0)}
    kernel = Blocks(parts, together=False).fit(theta)
    released = Released({name: jnp.ones(2) for name in "abc"}, jnp.ones(2))
    seen, moved = [], []
    for _ in range(4):
        proposed, _ = propose_all(kernel, theta, np.full((1, 3), 0.1))
        moved.append([name for name in "abc" if proposed[name][0] != 0])
        kernel = kernel.adapt(released)
        seen.append([float(part.seen) for part in kernel.kernels[:2]])
    assert moved == [["a"], ["b"], ["c"], ["a"]]
    assert seen == [[3, 0], [3, 3], [3, 3], [3, 3]]


def test_the_end_of_learning_reaches_the_blocks():
    """One at a time, a block has its share of the steps for turns of its own."""
    parts = {"a": RandomWalk(1.0), "b": Learning(), "c": None}
    for together, until in ((True, 7), (False, 3)):
        settled = Blocks(parts, together).stopping_at(7)
        assert settled == Blocks({**parts, "b": Learning(until)}, together)


def test_a_real_block_adapts_beside_a_discrete_one():
    """The posterior is right, from a scale that is 20 times too wide.

    Records are N(m + b, 1), with priors N(0, 1) and ½: a mixture of two normals by
    conjugacy. Means over 64 chains lie within z of their standard errors.
    """
    records = np.random.default_rng(24).normal(0.6, size=20)
    model = dpmcmc.Model(
        lambda theta, record: -((record - theta["m"] - theta["b"]) ** 2) / 2,
        lambda theta: -(theta["m"] ** 2) / 2,
        initial={"m": 0.0, "b": False},
    )
    sums = np.array([records.sum(), (records - 1).sum()])
    squares = np.array([np.sum(records**2), np.sum((records - 1) ** 2)])
    chances = softmax((sums**2 / 21 - squares) / 2)
    posterior = dpmcmc.sample_not_private(
        model,
        records,
        steps=6000,
        chains=64,
        method=dpmcmc.Barker(
            proposal=Blocks(
                {"m": Adaptive(RandomWalk(10.0)), "b": BitFlips()}, together=False
            )
        ),
        seed=25,
        progress=False,
    )
    z = stats.t(63).isf(FALSE_ALARM / 2 / 2)
    for name, expected in (("b", chances[1]), ("m", chances @ sums / 21)):
        means = posterior.draws[name].mean(axis=1, dtype=np.float64)
        error = means.std(ddof=1) / 8
        assert error < 0.02
        assert abs(means.mean() - expected) < z * error
    moved = np.diff(posterior.draws["m"], axis=1) != 0
    assert 0.08 < moved.mean() < 0.25  # half of the steps, about a quarter accepted


AB = {"a": jnp.float32(0), "b": jnp.zeros(2, bool)}


@pytest.mark.parametrize(
    ("proposal", "theta", "parts"),
    [
        (Blocks([RandomWalk(1.0)]), AB, ["parts is a list", "dictionary"]),
        (Blocks({"a": RandomWalk(1.0)}), AB, ["no block holds", "'b'", "None"]),
        (Blocks({}), AB, ["no block holds", "'a'"]),
        (Blocks({"a": None, "b": None}), AB, ["nothing would move"]),
        (
            Blocks({"a": RandomWalk(1.0), "b": BitFlips(), "c": None}),
            AB,
            ["a block 'c'", "parameters 'a', 'b'"],
        ),
        (
            Blocks({"g": RandomWalk(1.0), "g.x": RandomWalk(1.0)}),
            {"g": {"x": jnp.zeros(1), "y": jnp.zeros(1)}},
            ["a block 'g.x'", "parameters 'g.x', 'g.y'", "once"],
        ),
        (Blocks({"a": 0.1, "b": BitFlips()}), AB, ["the block 'a' is a float"]),
        (Blocks({"a": RandomWalk, "b": None}), AB, ["the block 'a' is a type"]),
        (Blocks({"a": BitFlips(), "b": None}), AB, ["moves booleans", "θ holds θ"]),
        (Mixture([(1, Learning())]), AB["a"], ["part 0", "none may adapt"]),
        (Mixture([]), AB["a"], ["parts is []", "pairs of a weight"]),
        (Mixture([RandomWalk(1.0)]), AB["a"], ["pairs of a weight"]),
        (Mixture(None), AB["a"], ["parts is None"]),
        (Mixture([(0, RandomWalk(1.0))]), AB["a"], ["weight", "is 0", "above 0"]),
        (Mixture([(1, "walk")]), AB["a"], ["part 0 of the mixture is a str"]),
        (Mixture([(1, RandomWalk(1.0))]), AB, ["RandomWalk moves real", "b: bool[2]"]),
    ],
)
def test_refusals(proposal, theta, parts):
    with pytest.raises(InputError) as caught:
        proposal.fit(theta)
    for part in parts:
        assert part in str(caught.value)
