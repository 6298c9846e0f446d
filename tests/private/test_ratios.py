# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""One record, one bounded integer: exact sensitivity, whatever bits a ratio holds."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import plain
import pytest
from adversarial import HOSTILE, hostile_ratios
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmcmc.arithmetic import CLIP_STEPS, RECORD_LIMIT
from dpmcmc.private import Grid
from dpmcmc.private.ratios import BLOCK, clip_to_grid, sum_of_steps

COUNT = 60
CLIPS = [1e-8, 0.01, 1.0, 1e30]
DTYPES = [np.float32, np.float64]


@partial(jax.jit, static_argnames="grid")
def compiled_clip(ratios, present, grid):
    return clip_to_grid(ratios, present, grid)


compiled_sum = jax.jit(sum_of_steps, static_argnames="block")


def steps_of(ratios, grid, present=None):
    """The integers of an array of ratios, through the compiled code."""
    present = np.ones(np.shape(ratios), bool) if present is None else present
    with jax.enable_x64(True):
        return np.asarray(compiled_clip(jnp.asarray(ratios), present, grid))


def sum_of(integers, block):
    with jax.enable_x64(True):
        total = compiled_sum(jnp.asarray(integers), block)
        assert total.dtype == jnp.int64
        return int(total)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("clip", CLIPS)
@settings(max_examples=40)
@given(data=st.data())
def test_every_bit_pattern_gives_an_integer_in_range(data, clip, dtype):
    ratios = data.draw(hostile_ratios(dtype, COUNT))
    integers = steps_of(ratios, Grid(clip))
    assert integers.dtype == np.int32
    assert integers.shape == ratios.shape
    assert np.all(np.abs(integers.astype(np.int64)) <= CLIP_STEPS)


@pytest.mark.parametrize("dtype", DTYPES)
@settings(max_examples=40)
@given(data=st.data())
def test_an_integer_depends_on_its_own_ratio_alone(data, dtype):
    """Record by record, each gives the integer that it gives alone."""
    ratios = data.draw(hostile_ratios(dtype, COUNT))
    together = steps_of(ratios, Grid(0.01))
    where, other = (
        data.draw(st.integers(0, COUNT - 1)),
        data.draw(st.integers(0, COUNT - 1)),
    )
    changed = ratios.copy()
    changed[where] = ratios[other]
    after = steps_of(changed, Grid(0.01))
    rest = np.arange(COUNT) != where
    assert np.array_equal(together[rest], after[rest])
    assert after[where] == together[other]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("clip", CLIPS)
@settings(max_examples=40)
@given(data=st.data())
def test_a_substituted_record_moves_the_sum_by_at_most_twice_the_clip(
    data, clip, dtype
):
    ratios = data.draw(hostile_ratios(dtype, COUNT))
    (replacement,) = data.draw(hostile_ratios(dtype, 1))
    where = data.draw(st.integers(0, COUNT - 1))
    neighbour = ratios.copy()
    neighbour[where] = replacement
    grid = Grid(clip)
    sums = [sum_of(steps_of(x, grid), COUNT) for x in (ratios, neighbour)]
    assert abs(sums[0] - sums[1]) <= 2 * CLIP_STEPS


def test_the_sensitivity_is_reached():
    """The bound is not slack: from one end of the clip to the other."""
    low, high = np.zeros(COUNT), np.zeros(COUNT)
    low[3], high[3] = -np.inf, np.inf
    sums = [sum_of(steps_of(x, Grid(0.01)), COUNT) for x in (low, high)]
    assert sums == [-CLIP_STEPS, CLIP_STEPS]


@pytest.mark.parametrize("dtype", DTYPES)
def test_hostile_values_have_stated_integers(dtype):
    grid, top = Grid(0.01), np.finfo(dtype).max
    ratios = np.array([np.nan, -np.nan, np.inf, -np.inf, top, -top, 0.0, -0.0], dtype)
    expected = [0, 0, *[CLIP_STEPS, -CLIP_STEPS] * 2, 0, 0]
    assert steps_of(ratios, grid).tolist() == expected
    payloads = HOSTILE[dtype][np.isnan(HOSTILE[dtype])]
    assert len(payloads) >= 4
    assert not np.any(steps_of(payloads, grid))


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_ratio_is_rounded_to_the_nearest_step(dtype):
    grid = Grid(0.5)  # a step is a power of two: the scaling is exact
    ratios = np.array([0.49, 1.0, 1.49, 1.51, 2.5, 3.5, -1.51, -2.5], dtype)
    expected = [0, 1, 1, 2, 2, 4, -2, -2]
    assert steps_of(ratios * dtype(grid.step), grid).tolist() == expected
    at_the_clip = np.array([0.5, 0.4999, -0.5, 0.6], dtype)
    assert steps_of(at_the_clip, grid)[[0, 2, 3]].tolist() == [2**20, -(2**20), 2**20]
    assert steps_of(at_the_clip, grid)[1] < 2**20


@settings(max_examples=40)
@given(data=st.data())
def test_integers_are_those_of_plain_python(data):
    ratios = data.draw(hostile_ratios(np.float64, COUNT))
    clip = 0.5  # its reciprocal is exact in both
    assert steps_of(ratios, Grid(clip)).tolist() == plain.clipped_steps(ratios, clip)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("clip", CLIPS)
@settings(max_examples=40)
@given(data=st.data())
def test_a_ratio_turned_round_gives_the_negative_integer(data, clip, dtype):
    """The clipped test is reversible: θ → θ′ and θ′ → θ have opposite Δ."""
    current = data.draw(hostile_ratios(dtype, COUNT))
    proposed = data.draw(hostile_ratios(dtype, COUNT))
    with np.errstate(all="ignore"):
        there, back = proposed - current, current - proposed
    grid = Grid(clip)
    assert np.array_equal(steps_of(there, grid), -steps_of(back, grid))


@settings(max_examples=40)
@given(data=st.data())
def test_what_is_not_present_gives_zero(data):
    ratios = data.draw(hostile_ratios(np.float32, COUNT))
    present = np.random.default_rng(data.draw(st.integers(0, 999))).random(COUNT) < 0.5
    integers = steps_of(ratios, Grid(0.01), present)
    assert not np.any(integers[~present])
    assert np.array_equal(integers[present], steps_of(ratios, Grid(0.01))[present])


@settings(max_examples=40)
@given(data=st.data())
def test_the_sum_is_the_same_in_any_order_and_any_blocks(data):
    ratios = data.draw(hostile_ratios(np.float32, COUNT))
    integers = steps_of(ratios, Grid(0.01))
    exact = sum(integers.tolist())
    order = np.random.default_rng(data.draw(st.integers(0, 999))).permutation(COUNT)
    for block in (1, 2, 5, 12, 30, COUNT):
        assert sum_of(integers, block) == exact
        assert sum_of(integers[order], block) == exact
    for split in (1, 20, 59):
        parts = sum_of(integers[:split], 1) + sum_of(integers[split:], 1)
        assert parts == exact


@pytest.mark.parametrize("seed", range(5))
def test_sums_of_many_steps_are_exact(seed):
    """Where float32, and at the last a sum in another order, would round."""
    rng = np.random.default_rng(seed)
    integers = rng.integers(-CLIP_STEPS, CLIP_STEPS, 64 * BLOCK, np.int32)
    integers[: 32 * BLOCK] = np.abs(integers[: 32 * BLOCK])
    exact = sum(integers.tolist())
    assert exact > 2**33
    for block in (1, 64, BLOCK):
        assert sum_of(integers, block) == exact
        assert sum_of(rng.permutation(integers), block) == exact


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("blocks", [1, 2, 3, 2049])
def test_the_largest_sums_do_not_overflow(sign, blocks):
    """Every record at the clip, over whole blocks: 2049 · 2³⁰ is far beyond int32."""
    count = blocks * BLOCK
    integers = steps_of(np.full(count, sign * np.inf, np.float32), Grid(0.01))
    assert sum_of(integers, BLOCK) == sign * count * CLIP_STEPS


def test_limits_of_the_sums_fit_their_integers():
    assert BLOCK * CLIP_STEPS < 2**31
    assert RECORD_LIMIT * CLIP_STEPS < 2**63
    assert sum_of(np.full(BLOCK, 2**52, np.int64), BLOCK) == RECORD_LIMIT * CLIP_STEPS


@pytest.mark.parametrize("records", [1, 3, 10**6, 2**31, 2**42])
def test_sums_without_clipping_fit_too(records):
    grid = Grid.unclipped(records)
    assert grid.steps * records < 2**63
    assert grid.step == 2.0**-22
    ratios = np.array([np.inf, -np.inf, np.nan, 1.0, 1e300])
    integers = steps_of(ratios, grid)
    one = min(2**22, grid.steps)
    assert integers.tolist() == [grid.steps, -grid.steps, 0, one, grid.steps]
    assert sum_of(np.repeat(integers[:1], BLOCK), BLOCK) == BLOCK * grid.steps


def test_a_step_is_exact():
    for clip in (0.01, 0.1, 1 / 3, 1e-20):
        grid = Grid(clip)
        assert grid.steps == CLIP_STEPS
        assert grid.step * CLIP_STEPS == clip


@pytest.mark.parametrize(
    "flags",
    [
        "--xla_cpu_enable_fast_math=true --xla_cpu_fast_math_honor_nans=false "
        "--xla_cpu_fast_math_honor_infs=false",
        "--xla_cpu_enable_fast_min_max=true",
    ],
)
def test_the_range_holds_under_fast_arithmetic(fresh_process, flags):
    """Where the compiler may suppose that no number is NaN or infinite."""
    assert fresh_process("adversarial.py", XLA_FLAGS=flags).strip() == "in range"
