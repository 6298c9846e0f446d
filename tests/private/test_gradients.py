# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Noisy sums: what leaves, and the words that are used."""

import pickle
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from adversarial import HOSTILE
from jax.flatten_util import ravel_pytree
from programs import ENTRYWISE, inner_programs
from slopes import LINEAR, POINT, SIZE, Slope, bounded

from dpmcmc.arithmetic import CLIP_STEPS
from dpmcmc.model.model import Model
from dpmcmc.private import NoisySums, Records, Tape, gradients, vectors
from dpmcmc.private.batches import Sampling, draw_batches
from dpmcmc.private.exact_normal import rounded_normals
from dpmcmc.private.records import Opened
from dpmcmc.private.tape import Stream
from dpmcmc.private.vectors import bounded_vectors
from dpmcmc.variational.guides import GuideGradient, Points


def sums_of(records, batch=4, noise=1.0, tape=None, model=LINEAR, dtype="float32"):
    return NoisySums(
        model,
        Records(records),
        Slope(),
        tape or Tape.seeded(1),
        batch=batch,
        noise_multiplier=noise,
        dtype=dtype,
        device=jax.devices()[0],
    )


def by_hand(records, tape, step, batch, noise):
    drawn = draw_batches(tape, 2**64 - 1, step, 1, Sampling(len(records), batch))[0]
    total = bounded(records[drawn]).sum(axis=0)
    deviation = int(np.ceil(noise * CLIP_STEPS))
    return (total + rounded_normals(tape, step, SIZE, deviation)) / CLIP_STEPS


def test_what_leaves_is_the_sum_of_the_drawn_records_plus_the_noise():
    records = np.random.default_rng(5).normal(size=(40, SIZE)).astype(np.float32)
    sums = sums_of(records, batch=11, noise=2.7)
    for step in range(5):
        expected = by_hand(records, Tape.seeded(1), step, 11, 2.7)
        np.testing.assert_array_equal(sums.release(POINT), expected, strict=True)


def test_batches_looked_up_together_or_one_by_one_are_the_same(monkeypatch):
    records = np.random.default_rng(6).normal(size=(40, SIZE)).astype(np.float32)
    together = sums_of(records)
    ahead = [together.release(POINT) for _ in range(7)]
    for at_once in (4, 12):
        monkeypatch.setattr(gradients, "_RECORDS_AT_ONCE", at_once)
        single = sums_of(records)
        np.testing.assert_array_equal([single.release(POINT) for _ in range(7)], ahead)


def test_a_batch_of_everyone_needs_no_drawing():
    records = np.random.default_rng(7).normal(size=(9, SIZE)).astype(np.float32)
    noise = rounded_normals(Tape.seeded(1), 0, SIZE, 5 * CLIP_STEPS)
    expected = (bounded(records).sum(axis=0) + noise) / CLIP_STEPS
    np.testing.assert_array_equal(sums_of(records, 9, 5.0).release(POINT), expected)


@pytest.mark.parametrize("count", [15, 16, 17, 160, 1000])
def test_whoever_is_told_of_progress_hears_of_shapes_alone(monkeypatch, count):
    """The same numbers for any records; all of them once; the same sum leaves."""
    monkeypatch.setattr(vectors, "_NUMBERS_AT_ONCE", 16 * SIZE)
    monkeypatch.setattr(gradients, "_STRETCHES", 7)
    vectors.sum_of_vectors.clear_cache()
    usual = np.random.default_rng(8).normal(size=(count, SIZE))
    heard = []
    for records in (usual, np.resize(HOSTILE[np.float64], (count, SIZE))):
        told = []
        released = sums_of(records, count).release(POINT, told.append)
        np.testing.assert_array_equal(released, sums_of(records, count).release(POINT))
        heard.append(told)
    vectors.sum_of_vectors.clear_cache()
    assert heard[0] == heard[1]
    assert sum(heard[0]) == count
    assert len(heard[0]) == min(7, -(-count // 16))
    assert min(heard[0]) > 0


def test_the_noise_is_as_large_as_was_said():
    """Spread of 600 sums of zeros, 5 deviations: false alarm below 1 in a million."""
    sums = sums_of(np.zeros((6, SIZE)), batch=2, noise=3.0)
    drawn = np.array([sums.release(POINT) for _ in range(600)])
    spread = 5 / np.sqrt(2 * drawn.size)
    assert drawn.std() / 3.0 == pytest.approx(1, abs=spread)


@pytest.mark.parametrize(("count", "batch"), [(100, 100), (100, 37)])
@pytest.mark.parametrize("missing", [0, 1, 60])
def test_missing_values_change_no_number_that_is_told(
    monkeypatch, count, batch, missing
):
    """How many are missing is a secret; and they count for nothing in stretches too.

    The column that is missing is not the one that the model reads: only what says who
    is present keeps these records out.
    """
    monkeypatch.setattr(vectors, "_NUMBERS_AT_ONCE", 8)
    vectors.sum_of_vectors.clear_cache()
    other = pd.array([None] * missing + [0.5] * (count - missing), "Float64")
    table = pd.DataFrame({"a": np.full(count, 0.5), "b": other})
    point, told = np.zeros(1, np.float32), []
    model = Model(lambda theta, record: theta[0] * record["a"], lambda _: 0.0, point)
    released = sums_of(table, batch, model=model).release(point, told.append)
    assert told == [8] * (batch // 8) + [batch % 8]
    at_once = sums_of(table, batch, model=model).release(point)
    np.testing.assert_array_equal(released, at_once, strict=True)
    drawn = draw_batches(Tape.seeded(1), 2**64 - 1, 0, 1, Sampling(count, batch))[0]
    here = np.count_nonzero(drawn >= missing)
    noise = rounded_normals(Tape.seeded(1), 0, 1, CLIP_STEPS)
    assert released[0] == 0.5 * here + noise[0] / CLIP_STEPS
    vectors.sum_of_vectors.clear_cache()


def test_a_record_with_a_missing_value_counts_for_nothing():
    table = pd.DataFrame({"a": pd.array([0.5, None, 0.25], "Float64")})
    model = Model(lambda theta, record: theta * record["a"], lambda theta: 0.0, 0.0)
    noise = rounded_normals(Tape.seeded(1), 0, 1, CLIP_STEPS) / CLIP_STEPS

    @dataclass(frozen=True)
    class One:
        def __call__(self, log_likelihood, public):
            return 0.25 + jax.grad(log_likelihood)(public)[None]

    sums = NoisySums(
        model,
        Records(table),
        One(),
        Tape.seeded(1),
        batch=3,
        noise_multiplier=1.0,
        dtype="float32",
        device=jax.devices()[0],
    )
    released = sums.release(np.float32(0.0)) - noise
    np.testing.assert_allclose(released, [0.75 + 0.5], atol=1e-9)


# The tape


def test_no_word_is_used_twice(monkeypatch):
    calls, inner = [], Tape.words

    def words(self, stream, chain, start, count, attempt=0):
        calls.append((stream, attempt, chain, start, start + count))
        return inner(self, stream, chain, start, count, attempt)

    monkeypatch.setattr(Tape, "words", words)
    monkeypatch.setattr(gradients, "_RECORDS_AT_ONCE", 30)
    sums = sums_of(np.ones((20, SIZE)), batch=10)
    sums.normals(17)
    for _ in range(10):
        sums.release(POINT)
        sums.normals(3)
    used = {}
    for stream, attempt, chain, start, end in calls:
        places = used.setdefault((stream, attempt, chain), set())
        fresh = set(range(start, end))
        assert not places & fresh
        places |= fresh
    streams = {stream for stream, *_ in calls}
    assert streams >= {Stream.BATCH, Stream.REDRAW, Stream.NOISE, Stream.POINTS}
    # batches are drawn under a number that no chain has
    batches = [c for c in calls if c[0] in (Stream.BATCH, Stream.REDRAW)]
    assert {chain for _, _, chain, _, _ in batches} == {2**64 - 1}


def test_a_secret_tape_serves_once():
    tape = Tape.fresh()
    sums_of(np.ones((5, SIZE)), tape=tape)
    with pytest.raises(RuntimeError, match="this tape has been used"):
        sums_of(np.ones((5, SIZE)), tape=tape)


def test_public_normals_are_normal_and_go_on():
    """Mean and spread of 20,000, 5 deviations: false alarm below 2 in a million."""
    sums = sums_of(np.ones((5, SIZE)))
    drawn = np.concatenate([sums.normals(5000) for _ in range(4)])
    assert len(np.unique(drawn)) == len(drawn)
    assert abs(drawn.mean()) < 5 / np.sqrt(len(drawn))
    assert drawn.std() == pytest.approx(1, abs=5 / np.sqrt(2 * len(drawn)))


@pytest.mark.parametrize("noise", [0.0, -1.0, np.nan, np.inf, 2.0**31])
def test_no_sum_leaves_without_noise(noise):
    with pytest.raises(ValueError, match="is no noise"):
        sums_of(np.ones((5, SIZE)), noise=noise)


def test_noisy_sums_cannot_be_saved():
    with pytest.raises(TypeError, match="they hold the records"):
        pickle.dumps(sums_of(np.ones((5, SIZE))))


def test_hostile_records_neither_raise_nor_warn():
    rows = np.resize(HOSTILE[np.float64], (40, SIZE))
    with jax.debug_nans(True), np.errstate(all="raise"):
        assert np.all(np.isfinite(sums_of(rows, batch=40).release(POINT)))


# The traced program


COUNT = 1021  # a prime, so that no other axis has its length

MORE = {"add_any", "ceil", "floor", "sign"}

STRUCTURAL = {
    "concatenate": lambda p: p["dimension"] != 0,
    "split": lambda p: p["axis"] != 0,
    "transpose": lambda p: p["permutation"][0] == 0,
    "reduce_sum": lambda p: 0 not in p["axes"],
    "reduce_and": lambda p: 0 not in p["axes"],
    "gather": lambda p: (
        p["slice_sizes"][0] == COUNT
        and 0 in p["dimension_numbers"].offset_dims
        and 0 not in p["dimension_numbers"].collapsed_slice_dims
    ),
}


def follow(program, are_records):
    """Which outputs hold sums; fails where records are mixed but by an int64 sum.

    Records are along the first axis of everything that holds them.
    """
    of_records = dict(zip(program.invars, are_records, strict=True))
    summed = set()
    for equation in program.eqns:
        given = [v for v in equation.invars if not hasattr(v, "val")]
        name = equation.primitive.name
        assert not summed & set(given), f"{name} reads the sum of records"
        if not any(of_records.get(v) for v in given):
            continue
        inner = list(inner_programs(equation))
        outputs = equation.outvars
        if inner:
            flags = [
                not hasattr(v, "val") and bool(of_records.get(v))
                for v in equation.invars
            ]
            sums = follow(inner[0], flags)
            summed |= {v for v, is_sum in zip(outputs, sums, strict=True) if is_sum}
        elif name == "reduce_sum" and 0 in equation.params["axes"]:
            assert outputs[0].aval.dtype == np.int64, "records are summed as floats"
            summed |= set(outputs)
            continue
        else:
            keeps_apart = STRUCTURAL.get(name)
            is_entrywise = name in ENTRYWISE or name in MORE
            is_apart = keeps_apart(equation.params) if keeps_apart else is_entrywise
            assert is_apart, f"{name} may mix records"
        for variable in outputs:
            if variable not in summed:
                assert variable.aval.shape[:1] == (COUNT,), f"{name} mixes records"
                of_records[variable] = True
    return [variable in summed for variable in program.outvars]


def traced(full=True, dtype="float32"):
    def quadratic(theta, record):
        return -0.5 * (record["x"] - theta["mean"]) ** 2 * jnp.exp(theta["other"])

    initial = {"mean": 0.0, "other": 0.0}
    model = Model(quadratic, lambda theta: 0.0, initial)
    with jax.enable_x64(True):
        start = jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype), initial)
        _, unravel = ravel_pytree(start)
        parts = (np.zeros((4, 2)), np.ones(2), np.ones(()))
        public = Points(*(np.asarray(part, dtype) for part in parts))
        batch = Opened({"x": np.zeros(COUNT, dtype)}, np.ones(COUNT, bool))
        measure = GuideGradient(unravel, 2, full)

        def total(batch, public):
            return vectors.sum_of_vectors(model, measure, dtype, batch, public)

        program = jax.make_jaxpr(total)(batch, public)
    flags = [True] * 2 + [False] * 3
    return follow(program.jaxpr, flags)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("full", [True, False])
def test_records_meet_in_an_integer_sum_alone_and_nothing_reads_it(full, dtype):
    assert traced(full, dtype) == [True]


def test_a_program_that_mixes_records_is_found(monkeypatch):
    inner = bounded_vectors

    def centred(vectors, present):
        return inner(vectors - jnp.mean(vectors, axis=0), present)

    vectors.sum_of_vectors.clear_cache()
    monkeypatch.setattr(vectors, "bounded_vectors", centred)
    with pytest.raises(AssertionError, match="summed as floats"):
        traced()


def test_a_program_that_scales_by_the_sum_is_found(monkeypatch):
    inner = bounded_vectors

    def scaled(vectors, present):
        steps = inner(vectors, present)
        return steps // jnp.sum(present.astype(jnp.int64), dtype=jnp.int64)

    vectors.sum_of_vectors.clear_cache()
    monkeypatch.setattr(vectors, "bounded_vectors", scaled)
    with pytest.raises(AssertionError, match="reads the sum of records"):
        traced()
    vectors.sum_of_vectors.clear_cache()
