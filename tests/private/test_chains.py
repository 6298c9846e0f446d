# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Chains: the same bits in any layout, each word once, nothing else released."""

import copy
import pickle
import warnings

import jax
import jax.numpy as jnp
import layout
import numpy as np
import plain
import pytest
from adversarial import HOSTILE
from programs import equations
from small_chains import make, simulate

from dpmcmc.model.model import Model
from dpmcmc.private import FullData, Grid, Released, Tape
from dpmcmc.private import chains as chains_module
from dpmcmc.private import moves as steps_module
from dpmcmc.proposals import Adaptive, RandomWalk

# The same chain in any layout


@pytest.fixture(scope="module")
def digests():
    """Digest of the whole chain, in one chunk on one device, for each precision."""
    return {
        f"{dtype}:{records}": layout.digest_of(f"1:1000:{dtype}:{records}")
        for dtype, records in [("float32", 4099), ("float64", 4099), ("float32", 7)]
    }


@pytest.mark.parametrize(("chunk", "dtype"), [(1, "float64"), (7, "float32")])
def test_chunks_do_not_change_the_chain(digests, chunk, dtype):
    """Points and bits of 1000 steps are the same to the last bit."""
    assert layout.digest_of(f"1:{chunk}:{dtype}:4099") == digests[f"{dtype}:4099"]


def test_the_digest_sees_one_bit():
    """So that the tests of layouts can fail."""
    released = Released({"x": np.zeros((3, 2))}, np.zeros((3, 2), bool))
    other = copy.deepcopy(released)
    other.accepted[2, 1] = True
    assert layout.digest(released) != layout.digest(other)


def test_a_chain_accepts_and_refuses(digests):
    """The chain that the layouts share is not a trivial one."""
    accepted = layout.run(layout.make_chains(), 1000).accepted
    assert np.all(accepted.mean(axis=0) > 0.2)
    assert np.all(accepted.mean(axis=0) < 0.8)


def test_devices_do_not_change_the_chain(digests, fresh_process):
    """Four host devices; 4099 records divide neither by them nor by a block."""
    layouts = [
        "4:1000:float32:4099",
        "3:7:float32:4099",
        "1:1000:float32:4099",
        "4:1000:float64:4099",
        "4:1000:float32:7",
    ]
    output = fresh_process(
        "layout.py",
        *layouts,
        XLA_FLAGS="--xla_force_host_platform_device_count=4",
        JAX_ENABLE_X64="0",
    )
    expected = [digests[name.split(":", 2)[2]] for name in layouts]
    assert output.split() == expected


def test_devices_and_chunks_do_not_change_a_single_chain(fresh_process):
    layouts = ["1:1000:float32:4099:1", "4:1000:float32:4099:1", "3:7:float32:4099:1"]
    output = fresh_process(
        "layout.py", *layouts, XLA_FLAGS="--xla_force_host_platform_device_count=4"
    )
    assert len(set(output.split())) == 1


def test_the_precision_of_the_user_does_not_change_the_chain(digests, fresh_process):
    layouts = ["1:1000:float32:4099", "1:7:float64:4099"]
    output = fresh_process("layout.py", *layouts, JAX_ENABLE_X64="1")
    assert output.split() == [digests[name.split(":", 2)[2]] for name in layouts]


@pytest.mark.parametrize("enabled", [False, True])
def test_the_settings_of_the_user_stay(enabled):
    with jax.enable_x64(enabled), np.errstate(under="raise"):
        before = np.geterr()
        released = make(simulate(30)).advance(5)
        assert jax.config.jax_enable_x64 == enabled
        assert np.geterr() == before
        assert jnp.asarray(np.zeros(2)).dtype == (jnp.float64 if enabled else "float32")
    assert released.theta.dtype == jnp.float32


# The same chain as a second, plain one


def two_parameters(theta, record):
    scale = jnp.exp(theta["log_scale"])
    return -0.5 * ((record["x"] - theta["mean"]) / scale) ** 2 - theta["log_scale"]


def plain_two_parameters(data):
    def log_likelihoods(theta):  # ravelled by name: log_scale, then mean
        log_scale, mean = theta
        return -0.5 * ((data - mean) / np.exp(log_scale)) ** 2 - log_scale

    return log_likelihoods


@pytest.mark.parametrize("count", [37, 1025])
def test_the_chain_is_that_of_a_plain_program(count):
    """Bits agree over 300 steps of 2 chains; points agree up to rounding.

    1025 records are padded by 1023 zeros, which the plain program does not have.
    The plain program computes every log-likelihood anew, so that a stale cache
    shows; a rounding that differs turns a bit with a probability of about 1e-12.
    """
    data = simulate(count)
    data[:5] = [np.nan, np.inf, -np.inf, 1e300, 5e-324]
    covariance = np.array([[0.02, 0.01], [0.01, 0.03]])
    model = Model(
        two_parameters,
        lambda theta: -0.5 * theta["mean"] ** 2 - theta["log_scale"] ** 2,
        {"mean": 0.0, "log_scale": 0.0},
    )
    with jax.enable_x64(True):
        start = {"mean": jnp.float64(0.2), "log_scale": jnp.float64(-0.1)}
        kernel = RandomWalk(covariance).fit(start)
    chains = make({"x": data}, model, kernel, start, chunk=128, clip=0.2)
    released = layout.run(chains, 128, steps=300)
    assert released.theta["mean"].dtype == np.float64
    for chain in range(2):
        points, bits = plain.run_chain(
            plain_two_parameters(data),
            lambda theta: -0.5 * theta[1] ** 2 - theta[0] ** 2,
            [-0.1, 0.2],
            np.linalg.cholesky(covariance),
            clip=0.2,
            seed=80,
            chain=chain,
            steps=300,
        )
        assert np.array_equal(released.accepted[:, chain], bits)
        assert 0.1 < bits.mean() < 0.9
        for column, name in enumerate(("log_scale", "mean")):
            np.testing.assert_allclose(
                released.theta[name][:, chain], points[:, column], rtol=0, atol=1e-11
            )


def test_a_step_evaluates_each_record_once():
    """The sine of the model stands once in the compiled step, for all records."""
    model = Model(lambda theta, record: jnp.sin(record) * theta, lambda theta: 0.0, 0)
    chains = make(simulate(50), model)
    with jax.enable_x64(True):
        program = jax.make_jaxpr(
            lambda *arrays: steps_module.advance(
                model, chains._test, "float32", *arrays, 20, False
            )
        )(
            chains._resident,
            chains._states[0],
            chains._kernel,
            chains._inputs(0, 20)[0],
        )
    sines = [
        equation.outvars[0].aval.shape
        for equation in equations(program.jaxpr)
        if equation.primitive.name == "sin"
    ]
    assert sines == [(50,)]


def released_of(data, sizes, **settings):
    chains = make(data, **settings)
    parts = [jax.tree.map(np.asarray, chains.advance(size)) for size in sizes]
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)


def test_a_single_chain_is_the_first_of_several():
    """It has two memories that take turns, across chunks too; several copy theirs."""
    data, sizes = simulate(200), [50, 50, 13]
    single = released_of(data, sizes, chains=1, chunk=50)
    several = released_of(data, sizes, chains=3, chunk=50)
    assert 20 < single.accepted.sum() < 93
    assert np.array_equal(single.accepted[:, 0], several.accepted[:, 0])
    assert np.array_equal(single.theta[:, 0], several.theta[:, 0])


def test_chains_one_by_one_are_those_together(monkeypatch):
    data, sizes = simulate(200), [50, 13]
    together = released_of(data, sizes, chains=3, chunk=50)
    monkeypatch.setattr(
        chains_module, "_groups", lambda *_: [slice(c, c + 1) for c in range(3)]
    )
    one_by_one = released_of(data, sizes, chains=3, chunk=50)
    assert np.array_equal(together.accepted, one_by_one.accepted)
    assert np.array_equal(together.theta, one_by_one.theta)


def test_who_goes_by_itself_follows_from_public_numbers_alone():
    class Accelerator:
        platform = "gpu"

    walk, test = RandomWalk(0.1).fit(jnp.float32(0)), FullData(Grid(0.1))
    adaptive = Adaptive(RandomWalk(0.1)).fit(jnp.float32(0))
    many, few = 10**8, 10**5

    def groups(records, kernel, device):
        return len(chains_module._groups(4, records, kernel, test, device))

    assert groups(many, walk, Accelerator()) == 4
    assert groups(few, walk, Accelerator()) == 1
    assert groups(many, adaptive, Accelerator()) == 1
    assert groups(many, walk, jax.devices("cpu")[0]) == 1


# Nothing is compiled twice


def test_the_model_is_traced_a_fixed_number_of_times():
    traced = []

    def log_likelihood(theta, record):
        traced.append(1)
        return -0.5 * (record - theta) ** 2

    chains = make(simulate(30), Model(log_likelihood, lambda theta: 0.0, 0), chunk=7)
    chains.advance(7)
    first = len(traced)
    assert first <= 4
    for steps in (7, 7, 3, 1, 7):
        chains.advance(steps)
    assert len(traced) == first


def test_a_last_shorter_chunk_compiles_nothing():
    chains = make(simulate(30), chunk=7)
    chains.advance(7)
    compiled = steps_module.advance._cache_size()
    chains.advance(7)
    chains.advance(2)
    assert steps_module.advance._cache_size() == compiled


# Each word once


@pytest.fixture
def addresses(monkeypatch):
    """Every address of the tape that is read, in order."""
    seen, words = [], Tape.words

    def spy(self, stream, chain, start, count):
        seen.extend((int(stream), chain, start + i) for i in range(count))
        return words(self, stream, chain, start, count)

    monkeypatch.setattr(Tape, "words", spy)
    return seen


def test_no_word_is_read_twice(addresses):
    start = {"a": jnp.zeros(2), "b": jnp.float32(0.0)}
    model = Model(
        lambda theta, record: -((record - theta["b"]) ** 2), lambda theta: 0.0, start
    )
    kernel = RandomWalk(0.3).fit(start)
    chains = make(simulate(9), model, kernel, start, chains=3, chunk=5)
    for steps in (5, 1, 0, 3, 5, 2):
        chains.advance(steps)
    assert len(addresses) == len(set(addresses)) == 3 * 16 * (3 + 1)
    expected = {(1, c, i) for c in range(3) for i in range(48)}
    expected |= {(2, c, i) for c in range(3) for i in range(16)}
    assert set(addresses) == expected


def test_no_word_is_read_twice_when_a_chunk_fails(addresses, monkeypatch):
    """A chunk that was interrupted has used its words."""
    chains, advance = make(simulate(9)), chains_module.advance

    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(chains_module, "advance", interrupted)
    with pytest.raises(KeyboardInterrupt):
        chains.advance(4)
    monkeypatch.setattr(chains_module, "advance", advance)
    chains.advance(4)
    assert len(addresses) == len(set(addresses)) == 2 * 2 * 8


def test_more_steps_than_a_chunk_are_refused():
    with pytest.raises(ValueError, match="a chunk has 8 steps, not 9"):
        make(simulate(9), chunk=8).advance(9)


def test_each_bit_has_its_own_word(monkeypatch):
    """Turning the word of one test, and no other, turns that bit alone."""
    words = Tape.words
    model = Model(lambda theta, record: 0.0 * record, lambda theta: 0.0, 0)
    expected = np.asarray(make(simulate(9), model).advance(20).accepted)
    for where in (0, 3, 19):

        def turned(self, stream, chain, start, count, where=where):
            stretch = words(self, stream, chain, start, count).copy()
            if (int(stream), chain) == (2, 1):
                stretch[where] ^= np.uint64(2**63)
            return stretch

        monkeypatch.setattr(Tape, "words", turned)
        bits = np.asarray(make(simulate(9), model).advance(20).accepted)
        assert np.argwhere(bits != expected).tolist() == [[where, 1]]


def test_proposals_do_not_read_the_words_of_tests(monkeypatch):
    """Where nothing is ever accepted, the words of tests change no point."""
    words = Tape.words

    def other_tests(self, stream, chain, start, count):
        stretch = words(self, stream, chain, start, count)
        return np.full_like(stretch, 2**64 - 1) if int(stream) == 2 else stretch

    monkeypatch.setattr(Tape, "words", other_tests)
    released = make(simulate(9)).advance(20)
    assert not np.any(released.accepted)
    assert np.all(np.asarray(released.theta) == np.float32(0.1))


# Nothing else is released


@pytest.mark.parametrize("value", HOSTILE[np.float64])
def test_no_value_of_a_record_shows_but_through_bits(value):
    """Under every debugging aid of JAX and NumPy, and with warnings as errors."""
    calm, hostile = simulate(30), simulate(30)
    hostile[4] = value
    with (
        warnings.catch_warnings(),
        np.errstate(all="raise"),
        jax.debug_nans(True),
        jax.debug_infs(True),
    ):
        warnings.simplefilter("error")
        one, other = (make(data).advance(20) for data in (calm, hostile))
    shapes = [
        jax.tree.map(lambda x: (x.shape, x.dtype, x.weak_type), r) for r in (one, other)
    ]
    assert shapes[0] == shapes[1]
    assert np.all(np.isfinite(other.theta))


def test_the_function_of_the_user_sees_no_value(capfd):
    """Also where the user turns compilation off."""

    def shown(theta, record):
        print(f"{theta} {record} {record.shape}")
        return -0.5 * (record - theta) ** 2

    with jax.disable_jit():
        make(np.full(5, 7777.125), Model(shown, lambda theta: 0.0, 0)).advance(2)
    output = capfd.readouterr().out
    assert "()" in output  # one record at a time
    assert "7777" not in output


def test_released_points_move_only_where_a_bit_says_so():
    released = make(simulate(40), chunk=200).advance(200)
    theta = np.concatenate([np.full((1, 2), 0.1, np.float32), released.theta])
    assert np.array_equal(np.diff(theta, axis=0) != 0, released.accepted)
    assert released._fields == ("theta", "accepted")
    assert released.accepted.dtype == bool


def test_chains_cannot_be_copied_or_saved():
    chains = make(np.full(5, 7777.125))
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="hold the records"):
            attempt(chains)
    assert "7777" not in f"{chains!r} {chains}"
