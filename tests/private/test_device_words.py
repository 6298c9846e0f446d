# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Words and batches made where chains run are those that the host makes."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import plain
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from test_tape import RFC_8439_BLOCKS

from dpmcmc.model.model import Model
from dpmcmc.private import (
    BatchDecision,
    Chains,
    CorrectedNoise,
    Grid,
    Minibatch,
    NormalMixture,
    Records,
    Tape,
    supply,
)
from dpmcmc.private.batches import Sampling, draw_batches
from dpmcmc.private.device_batches import draw_on_device, is_drawn_on_device
from dpmcmc.private.keystream import chacha20_blocks
from dpmcmc.private.tape import WORDS_PER_STREAM, Stream
from dpmcmc.proposals import RandomWalk

CPU = jax.devices("cpu")[0]


def keystream_of(seed):
    return Tape.seeded(seed).on_device(CPU)


# Words


def block_of(key, nonce, counter):
    def words(text):
        return jnp.asarray(np.frombuffer(text, "<u4"))

    return jax.jit(chacha20_blocks)(
        words(key), list(words(nonce)), jnp.asarray(counter, jnp.uint32)
    )


@pytest.mark.parametrize("name", RFC_8439_BLOCKS)
def test_blocks_are_those_of_rfc_8439(name):
    key, nonce, counter, expected = RFC_8439_BLOCKS[name]
    found = np.asarray(block_of(key, nonce, counter))
    assert found.dtype == np.uint32
    assert found.astype("<u4").tobytes().hex() == expected


@settings(max_examples=20)
@given(
    key=some.binary(min_size=32, max_size=32),
    nonce=some.binary(min_size=12, max_size=12),
    counter=some.integers(0, 2**32 - 1),
)
def test_any_block_is_that_of_a_plain_program(key, nonce, counter):
    found = np.asarray(block_of(key, nonce, counter))
    assert found.tobytes() == plain.chacha20_block(key, nonce, counter)


@partial(jax.jit, static_argnames=("stream", "chains", "count"))
def halves(keystream, stream, chains, start, count, attempt=0):
    return keystream.halves(stream, chains, start, count, attempt)


@settings(max_examples=40)
@given(
    seed=some.integers(0, 2**64),
    stream=some.sampled_from(Stream),
    start=some.integers(0, 40) | some.integers(0, WORDS_PER_STREAM - 21),
    attempt=some.integers(0, 3) | some.just(2**24 - 1),
)
def test_words_are_those_of_the_host(seed, stream, start, attempt):
    with jax.enable_x64(True):
        found = np.asarray(halves(keystream_of(seed), stream, 3, start, 21, attempt))
    tape = Tape.seeded(seed)
    for chain in range(3):
        words = tape.words(stream, chain, start, 21, attempt)
        assert np.array_equal(found[chain], words.view("<u4"))


def test_whole_words_are_those_of_the_host():
    with jax.enable_x64(True):
        found = keystream_of(5).words(Stream.TEST, 4, 13, 30)
        assert found.dtype == np.uint64
    for chain in range(4):
        expected = Tape.seeded(5).words(Stream.TEST, chain, 13, 30)
        assert np.array_equal(found[chain], expected)


def test_a_keystream_does_not_show_its_key():
    shown = f"{keystream_of(1)!r} {keystream_of(1)}"
    assert not any(str(word) in shown for word in keystream_of(1).key.tolist())


# Batches


@partial(jax.jit, static_argnames=("steps", "sampling"))
def draw(keystream, start, steps, sampling):
    return draw_on_device(keystream, 2, start, steps, sampling)


SAMPLINGS = [
    Sampling(1_000_000, 100),
    Sampling(300, 150),
    Sampling(11, 5),
    Sampling(2, 1),
    Sampling(2**31 + 5, 40),  # almost every second half is refused
    Sampling(2**32 - 2, 40),
    Sampling(7, 9, replacement=True),
    Sampling(1, 3, replacement=True),
    Sampling(1_000_000, 100, replacement=True),
    Sampling(2**31 + 5, 41, replacement=True),
]


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=str)
def test_batches_are_those_of_the_host(sampling):
    """The same records, each as often, whatever the tape and the first step."""
    for seed, start in [(0, 0), (1, 7), (2, 2**20 + 1)]:
        with jax.enable_x64(True):
            found = np.asarray(draw(keystream_of(seed), start, 25, sampling))
        assert found.shape == (25, 2, sampling.batch)
        for chain in range(2):
            host = draw_batches(Tape.seeded(seed), chain, start, 25, sampling)
            assert np.array_equal(np.sort(found[:, chain]), np.sort(host))


class Accelerator:
    platform = "gpu"


def test_who_draws_follows_from_public_numbers_alone():
    """The host draws for itself, and where too many records are drawn again."""
    assert not is_drawn_on_device(Sampling(1_000_000, 1000), CPU)
    assert is_drawn_on_device(Sampling(1_000_000, 1000), Accelerator())
    assert not is_drawn_on_device(Sampling(10, 6), Accelerator())
    assert is_drawn_on_device(Sampling(10, 6, replacement=True), Accelerator())
    assert not is_drawn_on_device(Sampling(100_000, 50_000), Accelerator())


# Chains


def released_by(on_device, replacement, monkeypatch):
    """All that chains release whose words and batches are made on a device, or not."""
    monkeypatch.setattr(supply, "is_drawn_on_device", lambda *_: on_device)
    noise = CorrectedNoise(2.0, NormalMixture((0.0,), (0.0,), (1.0,)))
    decision = BatchDecision(Grid(1.0, scale=2.0), 30, noise)
    start = jnp.float32(0.1)
    values = np.random.default_rng(3).normal(0.3, 1.0, 200)
    values[7] = np.nan
    chains = Chains(
        Model(lambda theta, x: -0.5 * (x - theta) ** 2, lambda theta: 0.0, 0.0),
        Records(np.ma.masked_greater(values, 1.5)),
        RandomWalk(0.3).fit(start),
        Minibatch(decision, replacement),
        Tape.seeded(8),
        start=jnp.stack([start] * 3),
        dtype="float32",
        chunk=20,
        devices=[CPU],
    )
    assert (chains._supply._keystream is not None) == on_device
    chains._whole = on_device  # an accelerator goes through rows beyond the steps, too
    parts = [chains.advance(steps) for steps in (20, 7, 20)]
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)


@pytest.mark.parametrize("replacement", [False, True])
def test_a_chain_is_the_same_wherever_its_words_are_made(replacement, monkeypatch):
    host = released_by(False, replacement, monkeypatch)
    device = released_by(True, replacement, monkeypatch)
    assert 0.1 < host.accepted.mean() < 0.9
    assert np.array_equal(host.accepted, device.accepted)
    assert np.array_equal(host.theta, device.theta)


def test_steps_beyond_the_tape_are_refused_on_a_device(monkeypatch):
    monkeypatch.setattr(supply, "is_drawn_on_device", lambda *_: True)
    noise = CorrectedNoise(2.0, NormalMixture((0.0,), (0.0,), (1.0,)))
    test = Minibatch(BatchDecision(Grid(1.0), 4, noise))
    _, _, source = test.unseal(None, Records(np.arange(50.0)), "float32", [CPU])
    made = supply.Supply(Tape.seeded(1), test, source, supply.Room(2, 1, 1), CPU)
    with jax.enable_x64(True):
        made.inputs(10, 2)
        with pytest.raises(ValueError, match="outside the tape"):
            made.inputs(WORDS_PER_STREAM // 4 - 1, 2)
