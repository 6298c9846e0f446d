# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers that a hostile likelihood may return. Run as a script: check the range."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

_WORDS = {np.float32: np.uint32, np.float64: np.uint64}


def _hostile(dtype):
    limits, word = np.finfo(dtype), _WORDS[dtype]
    bits = limits.bits
    quiet, sign = 1 << (limits.nmant - 1), 1 << (bits - 1)
    infinity = int(np.array(np.inf, dtype).view(word))
    nans = [infinity | 1, infinity | quiet, infinity | quiet | 5, sign | infinity | 1]
    nans.append(sign | infinity | (quiet - 1))
    with np.errstate(all="ignore"):
        numbers = np.array(
            [0.0, -0.0, np.inf, -np.inf, 1e300, -1e300, 0.01, -0.01, 0.005, 1.0],
            np.float64,
        ).astype(dtype)
    edges = np.array(
        [limits.max, limits.min, limits.tiny, limits.smallest_subnormal, limits.eps],
        dtype,
    )
    whole = np.array([2**20, 2**31, 2**32, 2**62], dtype)
    return np.concatenate(
        [numbers, edges, -edges, whole, -whole, np.array(nans, word).view(dtype)]
    )


HOSTILE = {dtype: _hostile(dtype) for dtype in _WORDS}
"""NaNs with payloads, infinities, denormals, and the ends of each kind of number."""


def _common(dtype):
    rng = np.random.default_rng(41)
    return (rng.normal(size=200) * 10.0 ** rng.uniform(-9, 3, 200)).astype(dtype)


COMMON = {dtype: _common(dtype) for dtype in _WORDS}
"""Ratios that fall between the steps of a grid, for clips of all sizes."""


def hostile_ratios(dtype, count):
    """Arrays of any bit pattern at all, with many hostile and many common values."""
    word = _WORDS[dtype]
    hostile, common = (values[dtype].view(word) for values in (HOSTILE, COMMON))
    either = st.one_of(
        st.sampled_from(hostile.tolist()),
        st.sampled_from(common.tolist()),
        st.integers(0, int(np.iinfo(word).max)),
    )
    words = arrays(word, count, elements=either, fill=st.nothing())
    return words.map(lambda patterns: patterns.view(dtype))


def _check():
    import jax
    import jax.numpy as jnp

    from dpmcmc.arithmetic import CLIP_STEPS
    from dpmcmc.private import Grid
    from dpmcmc.private.ratios import clip_to_grid

    rng = np.random.default_rng(40)
    with jax.enable_x64(True):
        for dtype, word in _WORDS.items():
            top = int(np.iinfo(word).max)
            patterns = rng.integers(0, top, 100_000, word, endpoint=True).view(dtype)
            ratios = np.concatenate([HOSTILE[dtype], patterns])
            present = jnp.ones(len(ratios), bool)
            for clip in (1e-8, 0.01, 1e30):
                clipped = jax.jit(lambda x, y, c=clip: clip_to_grid(x, y, Grid(c)))
                integers = np.asarray(clipped(jnp.asarray(ratios), present))
                assert np.all(np.abs(integers.astype(np.int64)) <= CLIP_STEPS)
                finite = np.isfinite(ratios) & (np.abs(ratios) > 2 * clip)
                signs = np.sign(ratios[finite]).astype(np.int64)
                assert np.array_equal(integers[finite], signs * CLIP_STEPS)
    print("in range")


if __name__ == "__main__":
    _check()
