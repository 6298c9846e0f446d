# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What no data can have accepted: points, ratios and priors that are not finite."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small_chains import make

from dpmcmc.model.model import Model
from dpmcmc.proposals import Proposed


class Jump:
    """A proposal of one fixed point, whatever the words."""

    def __init__(self, point, log_ratio=0.0):
        self.point, self.log_ratio = point, log_ratio

    def propose(self, theta, noise):
        noise.uniforms(1)
        return Proposed(jnp.full_like(theta, self.point), self.log_ratio)


jax.tree_util.register_pytree_node(
    Jump, lambda jump: ((jump.point, jump.log_ratio), None), lambda _, x: Jump(*x)
)

LIKES_ALL = Model(
    lambda theta, record: jnp.where(theta == 0.1, 0.0, jnp.inf) + 0 * record,
    lambda theta: 0.0,
    0,
)


@pytest.mark.parametrize("point", [np.nan, np.inf, -np.inf])
def test_a_point_that_is_not_finite_is_refused_whatever_the_data_say(point):
    released = make(np.ones(2000), LIKES_ALL, Jump(point)).advance(20)
    assert not np.any(released.accepted)
    assert np.all(np.asarray(released.theta) == np.float32(0.1))


@pytest.mark.parametrize("ratio", [np.nan, np.inf, -np.inf])
def test_a_ratio_that_is_not_finite_is_refused_whatever_the_data_say(ratio):
    released = make(np.ones(2000), LIKES_ALL, Jump(0.5, ratio)).advance(20)
    assert not np.any(released.accepted)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_prior_that_is_not_finite_is_refused_whatever_the_data_say(value):
    model = Model(
        LIKES_ALL.log_likelihood,
        lambda theta: jnp.where(theta == jnp.float32(0.1), 0.0, value),
        0,
    )
    assert not np.any(make(np.ones(2000), model, Jump(0.5)).advance(20).accepted)


def test_the_same_data_accept_a_finite_point():
    """So that the three tests above can fail: the odds are e⁴⁰ for it."""
    released = make(np.ones(2000), LIKES_ALL, Jump(0.5)).advance(20)
    assert np.all(released.accepted[0])


def test_padding_contributes_nothing():
    """1025 records make two blocks; the 1023 zeros of padding would accept all."""
    model = Model(
        lambda theta, record: jnp.where(record == 0, 1e30, -1e30) * theta,
        lambda theta: 0.0,
        0,
    )
    released = make(np.ones(1025), model, Jump(2.0), clip=1.0).advance(20)
    assert not np.any(released.accepted)
    opposite = make(-np.zeros(1025), model, Jump(2.0), clip=1.0).advance(20)
    assert np.all(opposite.accepted[0])
