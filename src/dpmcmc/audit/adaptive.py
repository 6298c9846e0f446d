# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Adversaries that react: proposals to released bits, questions to released answers.

The best play of decisions is found by dynamic programming on the privacy loss: after
each bit, the public part of the next is the one that tells most from here. Of the fit,
the adversary spends the budget by what the first answer looks like.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy import special

from dpmcmc.accounting import BarkerBit, GaussianRelease, certify_epsilon
from dpmcmc.audit.attack import Attack, Size
from dpmcmc.audit.bounds import Scores
from dpmcmc.audit.decisions import FAR, MODEL, decided
from dpmcmc.audit.releases import Pulls, tables
from dpmcmc.private import FullData, Grid
from dpmcmc.sampling.fit.asking import Ask, Asking
from dpmcmc.sampling.fit.basis import Basis
from dpmcmc.sampling.fit.stage import Fit
from dpmcmc.sampling.problem import Problem, make_problem
from dpmcmc.sampling.stages import Context

__all__ = ["adaptive_attacks"]

_CLIP, _DECISIONS = 0.2, 8
_CELLS = 16
"""Steps of the loss in the range of one bit."""

_DELTA = 1e-4
_AIM = 0.9
"""The fraction of the certified ε at which the play is best."""

_MU = 3.0
_TABLES = ([0.0, 0.0, 1.0], [0.0, 0.0, -1.0])


def adaptive_attacks() -> list[Attack]:
    """Against decisions on all records, and against the fit's filter."""
    return [_decisions(), _questions()]


class Game(NamedTuple):
    """The best play: by step and loss (in cells, from the least possible one on).

    Attributes
    ----------
    public
        The public part of the next decision.
    rise
        By how many cells an acceptance lifts the loss; a refusal lowers it by the
        rest of the range.
    """

    public: np.ndarray
    rise: np.ndarray


def best_game(clip: float, decisions: int, epsilon: float) -> Game:
    """Maximise P(S) − e^ε Q(S) over all plays that move the loss by whole cells."""
    eta, middle = 2 * clip, decisions * _CELLS
    cell = eta / _CELLS
    rises = np.arange(1, _CELLS)
    accept = np.expm1(rises * cell - eta) / np.expm1(-eta)
    loss = cell * np.arange(-2 * middle, 2 * middle + 1)
    value = np.maximum(0.0, -np.expm1(epsilon - loss))
    inner = slice(_CELLS, len(loss) - _CELLS)
    chosen = []
    for _ in range(decisions):
        moves = [
            p * np.roll(value, -rise) + (1 - p) * np.roll(value, _CELLS - rise)
            for p, rise in zip(accept, rises, strict=True)
        ]
        best = np.argmax(moves, axis=0)
        after = np.max(moves, axis=0)
        value = value.copy()
        value[inner] = after[inner]
        chosen.append(best[middle : 3 * middle + 1])
    table = np.array(chosen[::-1])
    return Game((special.logit(accept) - clip)[table], rises[table])


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _Plays:
    """Proposes by a game: θ holds the loss at the last acceptance, and when it was.

    From there on all decisions were refusals, so that the loss is known.
    """

    public: Any
    rise: Any
    refused: Any
    step: Any

    def propose(self, theta: Any, noise: Any) -> tuple[Any, Any]:
        """The next far point, with the loss after it; and the game's public part."""
        del noise
        game, now = jnp.divmod(self.step, len(self.public))
        is_begun = theta["game"] == game
        then = jnp.where(is_begun, theta["then"], 0).astype(int)
        middle = self.public.shape[1] // 2
        before = jnp.where(is_begun, theta["loss"], middle).astype(int)
        public, rise, refused = map(jnp.asarray, (self.public, self.rise, self.refused))
        loss = refused[then, before, now]
        proposed = {
            "at": theta["at"] + FAR,
            "game": game,
            "then": now + 1,
            "loss": loss + rise[now, loss],
        }
        return proposed, public[now, loss]

    def adapt(self, released: Any) -> "_Plays":
        """Count steps."""
        del released
        return replace(self, step=self.step + 1)


def _refused(game: Game) -> np.ndarray:
    """The loss now, by when an acceptance was, the loss then, and now."""
    steps, losses = game.rise.shape
    found = np.zeros((steps + 1, losses, steps + 1), int)
    for then in range(steps + 1):
        found[then, :, then] = np.arange(losses)
        for now in range(then, steps):
            here = found[then, :, now]
            after = here + game.rise[now, here] - _CELLS
            found[then, :, now + 1] = np.clip(after, 0, losses - 1)
    return found


def _final_losses(bits: np.ndarray, game: Game) -> np.ndarray:
    """The loss after each whole game, in cells."""
    steps, losses = game.rise.shape
    whole = len(bits) // steps * steps
    rows = bits[:whole].reshape(-1, steps, bits.shape[1])
    loss = np.full(rows.shape[::2], losses // 2)
    for now in range(steps):
        loss = loss + game.rise[now, loss] - np.where(rows[:, now], 0, _CELLS)
    return np.asarray(loss - losses // 2).reshape(-1)


def _decisions() -> Attack:
    event, quick = BarkerBit(clip=_CLIP, records=len(_TABLES[0])), 3_000_000
    aim = _AIM * certify_epsilon({event: _DECISIONS}, _DELTA).epsilon
    game = best_game(_CLIP, _DECISIONS, aim)
    start = {"at": 0.0, "game": -1.0, "then": 0.0, "loss": 0.0}

    def play(runs: int) -> Scores:
        made = []
        for table in _TABLES:
            kernel = _Plays(*game, _refused(game), np.array(0))
            test = FullData(Grid(_CLIP))
            found = decided(table, test, kernel, runs * _DECISIONS, start=start)
            made.append(_final_losses(found.accepted, game))
        return Scores(*made)

    return Attack(
        name=f"exact test on all records, {_DECISIONS} decisions, proposals that react",
        events={event: _DECISIONS},
        delta=_DELTA,
        threshold=aim * _CELLS / (2 * _CLIP),
        play=play,
        runs={Size.QUICK: quick, Size.WHOLE: 10 * quick},
        goal=0.85,
    )


@dataclass(frozen=True, eq=False)
class _Reacts(Fit):
    """A fit whose questions are the adversary's, on the true fit's budget."""

    def _asking(self, problem: Problem) -> Asking[Any]:
        """Ask once; then for the rest in two parts, or in four."""
        del problem
        measure, first = Pulls(), 0.25
        answer = yield Ask(measure, (), first)
        parts = 2 if answer.values[0] > 0 else 4
        for _ in range(parts):
            yield Ask(measure, (), (1 - first) / parts)
        return _Nothing()


class _Nothing:
    """What the adversary found, in place of a quadratic."""

    def arrays(self) -> dict[str, np.ndarray]:
        """Nothing."""
        return {}


def _questions() -> Attack:
    basis = Basis(np.eye(1), np.eye(1), np.zeros((1, 0)))
    stage = _Reacts(_MU, _MU, basis, 0.0, 1.0, lambda flat: flat)
    quick = 1_000

    contexts = [
        Context(
            make_problem(MODEL, one, start=None, precision="float32", devices=None),
            progress=False,
        )
        for one in tables()
    ]

    def score(context: Context) -> float:
        """The log-likelihood ratio of all answers: each is 1 or −1, with noise."""
        parts = stage.run(context, {stage.name: []}, {}, lambda *_: None)
        answers = [part.arrays for part in parts if "noise" in part.arrays]
        return math.fsum(one["values"][0] / one["noise"] ** 2 for one in answers)

    def play(runs: int) -> Scores:
        made = [np.array([score(one) for _ in range(runs)]) for one in contexts]
        return Scores(*made)

    return Attack(
        name="fit, questions that react",
        events={GaussianRelease(_MU): 1},  # it never asks for the final sum
        delta=1e-5,
        play=play,
        runs={Size.QUICK: quick, Size.WHOLE: 10 * quick},
        goal=0.85,
        is_gaussian=True,
    )
