# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A noisy quadratic by itself: nothing is read, and its noise is in its likelihood."""

import jax.numpy as jnp
import numpy as np
from scipy import stats

from dpmcmc import Model
from dpmcmc.influence.alone import QuadraticAlone

MODEL = Model(lambda theta, record: 0.0, lambda theta: 0.0, {"t": np.zeros(2)})


def test_a_move_is_judged_by_the_quadratic_alone() -> None:
    generator = np.random.default_rng(0)
    root = generator.normal(size=(2, 2))
    mean, precision = generator.normal(size=2), root @ root.T + np.eye(2)
    inverse, centre = generator.normal(size=(2, 2)), generator.normal(size=2)
    alone = QuadraticAlone(centre, inverse, precision @ mean, precision)
    old, new = generator.normal(size=(2, 2)).astype("float32")
    density = stats.multivariate_normal(mean, np.linalg.inv(precision))
    expected = np.diff([density.logpdf(inverse @ (at - centre)) for at in (old, new)])
    found = alone.public(MODEL, {"t": jnp.asarray(old)}, {"t": jnp.asarray(new)})
    np.testing.assert_allclose(found, expected[0], rtol=1e-4, atol=1e-4)


def test_no_record_enters_it() -> None:
    alone = QuadraticAlone(np.zeros(2), np.eye(2), np.ones(2), np.eye(2))
    theta = {"t": jnp.ones(2)}
    for record in (0.0, np.nan, 1e30):
        extras = alone.extras(MODEL, record)
        look = alone.look(MODEL, theta, record, extras, "float32")
        assert float(alone.ratio(look, look, record, extras)) == 0.0
