# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What every proposal keeps: dtypes, shapes, a fixed number of words, one result."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from words import Words, propose_all, words_of

from dpmcmc.proposals import (
    BitFlips,
    Blocks,
    BoundedWalk,
    CategoricalWalk,
    Custom,
    Independence,
    IntegerWalk,
    LogNormalWalk,
    Mixture,
    PerCoordinate,
    RandomWalk,
    Swap,
)

REAL = {"a": 1.5, "b": np.array([[0.25, 3.0]])}
MIXED = {"real": REAL, "bits": np.array([True, False]), "place": 3}
MIXED_PARTS = {
    "real": RandomWalk(0.1),
    "bits": BitFlips(),
    "place": IntegerWalk(2, 0, 5),
}
CASES = {
    "walk": (RandomWalk(0.1), REAL),
    "covariance": (RandomWalk(np.eye(3)), REAL),
    "coordinate": (PerCoordinate(0.1), REAL),
    "ball": (BoundedWalk(0.1), REAL),
    "box": (BoundedWalk({"a": 1.0, "b": 0.1}, "box"), REAL),
    "log-normal": (LogNormalWalk(0.1), REAL),
    "independence": (Independence(0.0, np.eye(3)), REAL),
    "custom": (Custom(lambda theta, noise: theta + noise.normals(1)[0]), 1.0),
    "bits": (BitFlips(2), {"x": np.zeros((2, 2), bool), "y": True}),
    "categories": (CategoricalWalk(4), {"x": 1, "y": np.array([3, 0])}),
    "integers": (IntegerWalk(2, -4, 4), np.array([[0, 4], [-4, 1]])),
    "swap": (Swap(), {"order": np.arange(5)}),
    "swap of floats": (Swap(), np.arange(5.0)),
    "together": (Blocks(MIXED_PARTS), MIXED),
    "one at a time": (Blocks(MIXED_PARTS, together=False), MIXED),
    "mixture": (Mixture([(1, RandomWalk(0.1)), (2, LogNormalWalk(0.1))]), REAL),
    "nested": (
        Mixture([(1, Blocks(MIXED_PARTS)), (1, Blocks(MIXED_PARTS, together=False))]),
        MIXED,
    ),
}


def point(theta, precision):
    """θ as a chain of this precision holds it."""
    whole = {"float32": "int32", "float64": "int64"}[precision]
    kinds = {"f": precision, "i": whole, "b": "bool"}
    return jax.tree.map(
        lambda leaf: jnp.asarray(leaf, kinds[np.asarray(leaf).dtype.kind]), theta
    )


def forms(theta):
    return jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype), theta)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    ("precision", "fitted", "run"),
    [
        ("float32", False, False),
        ("float32", False, True),  # as the sampler does
        ("float64", True, True),
    ],
    ids=["32", "32 in 64", "64"],
)
def test_points_keep_shapes_and_dtypes_whatever_the_arithmetic(
    case, precision, fitted, run
):
    proposal, theta = CASES[case]
    with jax.enable_x64(fitted):
        start = point(theta, precision)
        kernel = proposal.fit(start)
    with jax.enable_x64(run):
        words = np.random.default_rng(20).random((7, words_of(kernel, start)))
        proposed, log_ratio = propose_all(kernel, start, words)
    assert jax.tree.structure(proposed) == jax.tree.structure(start)
    assert forms(jax.tree.map(lambda leaf: leaf[0], proposed)) == forms(start)
    assert np.shape(log_ratio) == (7,)
    assert jnp.issubdtype(jnp.result_type(log_ratio), jnp.floating)


@pytest.mark.parametrize("case", CASES)
def test_one_proposal_is_what_many_at_once_are(case):
    proposal, theta = CASES[case]
    start = point(theta, "float32")
    kernel = proposal.fit(start)
    with jax.enable_x64(True):
        words = np.random.default_rng(21).random((7, words_of(kernel, start)))
        many = propose_all(kernel, start, words)
        alone = kernel.propose(start, Words(words[3]))
    assert forms(alone.theta) == forms(start)
    assert np.shape(alone.log_ratio) == ()
    jax.tree.map(
        lambda many, one: np.testing.assert_allclose(
            many[3], one, rtol=1e-5, atol=1e-6
        ),
        many,
        alone,
    )


@pytest.mark.parametrize("case", CASES)
def test_a_mover_can_be_an_argument_of_compiled_code(case):
    """It is a pytree of arrays, as the loop carries it."""
    proposal, theta = CASES[case]
    kernel = proposal.fit(point(theta, "float32"))
    for leaf in jax.tree.leaves(kernel):
        assert isinstance(leaf, np.ndarray | jax.Array)
    returned = jax.jit(lambda kernel: kernel)(kernel)
    assert jax.tree.structure(returned) == jax.tree.structure(kernel)
    assert repr(proposal)


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=20)
@given(data=st.data())
def test_any_words_give_a_point(case, data):
    """Words at the ends of (0, 1) too: points stay finite and in their range."""
    proposal, theta = CASES[case]
    start = point(theta, "float32")
    kernel = proposal.fit(start)
    ends = st.sampled_from([2**-53, 0.5, 1 - 2**-53])
    with jax.enable_x64(True):
        size = words_of(kernel, start)
        words = data.draw(
            st.lists(ends | st.floats(2**-53, 1 - 2**-53), min_size=size, max_size=size)
        )
        proposed, log_ratio = propose_all(kernel, start, np.array([words]))
    assert np.all(np.isfinite(log_ratio))
    for leaf in jax.tree.leaves(proposed):
        assert np.all(np.isfinite(leaf))
    if case == "integers":
        assert np.all(np.abs(proposed) <= 4)
    if case == "categories":
        assert all(np.all((leaf >= 0) & (leaf < 4)) for leaf in proposed.values())
