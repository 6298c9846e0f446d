# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Adversaries do what theory says of them: losses, plays and scores."""

import itertools

import jax
import numpy as np
import pytest
from scipy.special import expit

from dpmcmc.accounting import BarkerBit, certify_delta
from dpmcmc.audit.adaptive import _CELLS, _final_losses, _Plays, _refused, best_game
from dpmcmc.audit.attack import Size
from dpmcmc.audit.decisions import Far, best_place, decided, grouped
from dpmcmc.audit.default_run import default_run_attacks
from dpmcmc.audit.outside import _told_apart
from dpmcmc.audit.timing import timings
from dpmcmc.errors import NotUsableError
from dpmcmc.private import FullData, Grid
from dpmcmc.sampling.plan import Plan

CLIP, DECISIONS = 0.2, 5


def paths() -> np.ndarray:
    """All bits of a game, a column for each path."""
    return np.array(list(itertools.product([False, True], repeat=DECISIONS))).T


def probabilities(game, clip: float) -> np.ndarray:
    """Of each path, when the record pulls every decision by ``clip``."""
    found = []
    for bits in paths().T:
        loss, total = game.rise.shape[1] // 2, 1.0
        for now, bit in enumerate(bits):
            accept = expit(game.public[now, loss] + clip)
            total *= accept if bit else 1 - accept
            loss += game.rise[now, loss] - (0 if bit else _CELLS)
        found.append(total)
    return np.array(found)


def test_the_loss_of_a_game_is_its_log_likelihood_ratio() -> None:
    game = best_game(CLIP, DECISIONS, 0.8)
    ratio = np.log(probabilities(game, CLIP) / probabilities(game, -CLIP))
    cells = ratio / (2 * CLIP / _CELLS)
    np.testing.assert_allclose(_final_losses(paths(), game), cells, atol=1e-9)


def test_the_best_game_is_nearly_as_good_as_certified_and_never_better() -> None:
    epsilon = 0.8
    game = best_game(CLIP, DECISIONS, epsilon)
    first, second = (probabilities(game, clip) for clip in (CLIP, -CLIP))
    reached = np.maximum(first - np.exp(epsilon) * second, 0).sum()
    certified = certify_delta({BarkerBit(CLIP, 3): DECISIONS}, epsilon).delta
    assert reached <= certified
    assert reached == pytest.approx(certified, rel=0.05)


def test_the_proposal_plays_the_game() -> None:
    """Its bits are as probable as the game says: 20000 games, path by path."""
    game = best_game(CLIP, DECISIONS, 0.8)
    kernel = _Plays(*game, _refused(game), np.array(0))
    start = {"at": 0.0, "game": -1.0, "then": 0.0, "loss": 0.0}
    bits = decided(
        [0.0, 1.0], FullData(Grid(CLIP)), kernel, 20_000 * DECISIONS, start=start
    ).accepted
    whole = len(bits) // DECISIONS * DECISIONS
    rows = bits[:whole].reshape(-1, DECISIONS, bits.shape[1])
    numbers = np.tensordot(rows, 2 ** np.arange(DECISIONS)[::-1], ([1], [0]))
    seen = np.bincount(numbers.ravel(), minlength=2**DECISIONS) / numbers.size
    expected = probabilities(game, CLIP)
    # five standard errors of each of the 32 paths
    allowed = 5 * np.sqrt(expected / numbers.size)
    assert np.all(np.abs(seen - expected) <= allowed)


def test_decisions_are_pulled_by_the_clip_alone() -> None:
    """However far a ratio is beyond the clip, a record counts for the clip."""
    for record in (1.0, -1.0):
        bits = decided([0.0, record], FullData(Grid(0.5)), Far(0.3), 200_000).accepted
        expected = expit(0.3 + 0.5 * record)
        allowed = 5 * np.sqrt(expected * (1 - expected) / bits.size)
        assert abs(bits.mean() - expected) < allowed


def test_groups_are_decisions_in_a_row_of_one_chain() -> None:
    bits = np.array([[1, 0], [1, 0], [0, 1], [1, 1], [1, 1]], bool)
    assert grouped(bits, 2).tolist() == [2, 0, 1, 2]
    assert grouped(bits, 1).sum() == bits.sum()


def test_the_best_place_is_where_the_bound_is_largest() -> None:
    def accept(public: float) -> np.ndarray:
        return expit(public + np.array([0.5, -0.5]))

    place = best_place(accept, 1, 1e-5, 10**6)
    assert place.public < -3  # rare acceptances tell most
    assert 0.9 < place.bound < 1.0
    assert best_place(accept, 1, 1e-5, 10**8).bound > place.bound


def test_a_classifier_that_learns_nothing_bounds_nothing() -> None:
    pytest.importorskip("sklearn")
    generator = np.random.default_rng(0)
    same = [generator.normal(size=(400, 3)) for _ in range(2)]
    told = _told_apart(same, 0.01)
    assert abs(np.mean(told.first >= 0) - np.mean(told.second >= 0)) < 0.15
    apart = [rows + 3 * place for place, rows in enumerate(same)]
    told = _told_apart(apart[::-1], 0.01)
    assert np.mean(told.first >= 0) > 0.9
    assert np.mean(told.second >= 0) < 0.1
    assert len(told.first) == 200  # the other half was learnt from


def test_times_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpmcmc.audit.timing._RUNS", {Size.QUICK: 3})
    found = timings(Size.QUICK)
    assert len(found) == 9
    assert all(one.usual > 0 and one.hostile > 0 for one in found)
    assert all(0 <= one.p_value <= 1 for one in found)
    assert jax.config.jax_enable_x64 is False


def test_a_run_that_is_not_usable_is_an_outcome_like_any_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stops(plan: Plan, *_: object) -> None:
        raise NotUsableError("fit", "of no use", plan.statement({}))

    monkeypatch.setattr("dpmcmc.audit.default_run.run", stops)
    (attack,) = default_run_attacks()
    scores = attack.play(2)
    nothing = [[0.0, 0.0], [0.0, 0.0]]  # for either kind of noise, in two runs
    assert scores.first.tolist() == scores.second.tolist() == nothing
