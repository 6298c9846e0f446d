# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Chains inside the boundary: records and caches stay here, bits and points leave.

A step proposes a point, evaluates every record once at it, decides, and keeps the
per-record log-likelihoods of wherever the chain now is. Steps run in compiled
chunks, all chains together; what a chunk returns is the released chain, nothing
else. The number of steps in a chunk is an argument of the compiled code, not a part
of it, so that the last, shorter chunk compiles nothing new.
"""

from functools import partial
from typing import Any, NamedTuple, NoReturn, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.model import Model
from dpmcmc.private.barker import Decision, Evidence, barker
from dpmcmc.private.context import boundary_arithmetic
from dpmcmc.private.laws import Counter, Reader
from dpmcmc.private.ratios import Grid
from dpmcmc.private.records import Opened, Records, open_records
from dpmcmc.private.tape import Stream, Tape
from dpmcmc.tracing import as_float, is_double

__all__ = ["Chains", "Released"]


class Mover(Protocol):
    """What proposes a point: `dpmcmc.proposals.Mover`, known here by its method."""

    def propose(self, theta: Any, noise: Reader | Counter) -> tuple[Any, Any]:
        """Return a proposed θ and its log-density ratio."""
        ...


class Released(NamedTuple):
    """What leaves the boundary: points after each step, and the accepted bits.

    Arrays have a leading axis of steps, then one of chains.
    """

    theta: Any
    accepted: jax.Array


class _State(NamedTuple):
    """Where the chains are; the cache holds one log-likelihood a record."""

    theta: Any
    log_prior: jax.Array
    cache: jax.Array


class _Words(NamedTuple):
    """Words of a chunk: (steps, chains, words a proposal) and (steps, chains)."""

    proposal: jax.Array
    test: jax.Array


class Chains:
    """Markov chains on sealed records, advanced a chunk of steps at a time.

    Parameters
    ----------
    model, records, mover, grid, tape
        The model; the sealed records; the fitted proposal; the grid of the clipped
        ratios; the randomness.
    start
        The starting point of every chain, in the chain's precision.
    chains
        How many chains run together.
    chunk
        Most steps of one call to `advance`.
    devices
        Where the records are spread.
    """

    def __init__(
        self,
        model: Model,
        records: Records,
        mover: Mover,
        grid: Grid,
        tape: Tape,
        *,
        start: Any,
        chains: int,
        chunk: int,
        devices: list[jax.Device],
    ) -> None:
        self._model, self._mover, self._tape = model, mover, tape
        # the only step of a loop would be compiled, and so rounded, in another way
        self._chains, self._room, self._position = chains, max(chunk, 2), 0
        with boundary_arithmetic():
            self._opened, block = open_records(records, _dtype(start), devices)
            self._decision = Decision(grid, block)
            self._words_a_proposal = _count_words(mover, start)
            theta = jax.tree.map(lambda leaf: jnp.stack([leaf] * chains), start)
            self._state = _initial_state(model, self._opened, theta)

    def advance(self, steps: int) -> Released:
        """Run ``steps`` steps of every chain and release what they decided.

        Guarantee
        ---------
        What is returned is a function of ``chains · steps`` bits of `barker`, of
        earlier released bits, and of words of the tape that no bit uses. Each bit
        has its own word of the tape, used once. The run time and the shapes do not
        depend on the records' values by any branch of this code.
        """
        with boundary_arithmetic():
            words = self._read_tape(steps)
            self._position += steps  # first: no word is read twice, come what may
            self._state, released = _advance(
                self._model,
                self._decision,
                self._mover,
                self._opened,
                self._state,
                words,
                steps,
            )
            if steps == self._room:
                return released
            return jax.tree.map(lambda leaf: leaf[:steps], released)

    def __reduce__(self) -> NoReturn:
        raise TypeError("chains cannot be copied or saved: they hold the records")

    def _read_tape(self, steps: int) -> _Words:
        """Words of the next steps, padded to a whole chunk with zeros."""

        def read(stream: Stream, width: int) -> jax.Array:
            words = np.zeros((self._room, self._chains, width), np.uint64)
            for chain in range(self._chains):
                start, count = self._position * width, steps * width
                stretch = self._tape.words(stream, chain, start, count)
                words[:steps, chain] = stretch.reshape(steps, width)
            return jnp.asarray(words)

        return _Words(
            read(Stream.PROPOSAL, self._words_a_proposal),
            read(Stream.TEST, 1)[..., 0],
        )


def _count_words(mover: Mover, theta: Any) -> int:
    """How many words one proposal reads, found by tracing it once."""
    counter = Counter()
    jax.eval_shape(lambda point: mover.propose(point, counter), theta)
    return counter.count


@partial(jax.jit, static_argnames="model")
def _initial_state(model: Model, opened: Opened, theta: Any) -> _State:
    log_prior = jax.vmap(lambda point: _log_prior(model, point))(theta)
    return _State(theta, log_prior, _log_likelihoods(model, opened, theta))


@partial(jax.jit, static_argnames=("model", "decision"), donate_argnames="state")
def _advance(
    model: Model,
    decision: Decision,
    mover: Mover,
    opened: Opened,
    state: _State,
    words: _Words,
    steps: int,
) -> tuple[_State, Released]:
    """Run ``steps`` steps, at most as many as there are words."""

    def body(step: int, carry: tuple[_State, Released]) -> tuple[_State, Released]:
        state, released = carry
        now = jax.tree.map(lambda leaf: leaf[step], words)
        state, accepted = _step(model, decision, mover, opened, state, now)
        row = Released(state.theta, accepted)
        return state, jax.tree.map(
            lambda all_, one: all_.at[step].set(one), released, row
        )

    room = jax.tree.map(
        lambda leaf: jnp.zeros((words.test.shape[0], *leaf.shape), leaf.dtype),
        Released(state.theta, jnp.zeros(words.test.shape[1], bool)),
    )
    return jax.lax.fori_loop(0, steps, body, (state, room))


def _step(
    model: Model,
    decision: Decision,
    mover: Mover,
    opened: Opened,
    state: _State,
    words: _Words,
) -> tuple[_State, jax.Array]:
    """One proposal and one test of every chain."""
    theta, log_ratio = jax.vmap(partial(_propose, mover))(state.theta, words.proposal)
    log_prior = jax.vmap(lambda point: _log_prior(model, point))(theta)
    cache = _log_likelihoods(model, opened, theta)
    public = log_prior.astype(jnp.float64) - state.log_prior + log_ratio
    evidence = Evidence(state.cache, cache, opened.present)
    accepted = barker(evidence, public, words.test, decision)
    proposed = _State(theta, log_prior, cache)
    return _choose(accepted, proposed, state), accepted


def _propose(mover: Mover, theta: Any, words: jax.Array) -> tuple[Any, jax.Array]:
    """Propose a point; its log-ratio is NaN, hence refused, if it is not finite."""
    proposed, log_ratio = mover.propose(theta, Reader(words))
    proposed = jax.tree.map(lambda new, old: new.astype(old.dtype), proposed, theta)
    finite = jnp.array([jnp.all(jnp.isfinite(x)) for x in jax.tree.leaves(proposed)])
    return proposed, jnp.where(jnp.all(finite), log_ratio, jnp.nan)


def _log_prior(model: Model, theta: Any) -> jax.Array:
    dtype = _dtype(theta)
    with jax.enable_x64(is_double(dtype)):
        return as_float(model.log_prior(theta), dtype)


def _log_likelihoods(model: Model, opened: Opened, theta: Any) -> jax.Array:
    """Log-likelihood of each record at each chain's point, as (chains, records).

    Guarantee
    ---------
    Entry (c, i) is a function of chain c's point and of record i: the user's
    function sees one record at a time, under vmap with no named axis.
    """
    dtype = _dtype(theta)

    def one(point: Any, record: Any) -> jax.Array:
        with jax.enable_x64(is_double(dtype)):
            return as_float(model.log_likelihood(point, record), dtype)

    each_record = jax.vmap(one, in_axes=(None, 0))
    return jax.vmap(each_record, in_axes=(0, None))(theta, opened.arrays)


def _choose(accepted: jax.Array, proposed: _State, current: _State) -> _State:
    """Take each chain's proposed state where it was accepted."""

    def pick(new: jax.Array, old: jax.Array) -> jax.Array:
        return jnp.where(accepted.reshape(-1, *[1] * (new.ndim - 1)), new, old)

    return jax.tree.map(pick, proposed, current)


def _dtype(theta: Any) -> Any:
    return jnp.result_type(*jax.tree.leaves(theta))
