# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A simulator that is handed covariates of real records must not show them."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpmcmc import InputError, Model
from dpmcmc.influence.choices import ConditionalCentring
from dpmcmc.private import Grid

SHAPES = {
    "x": jax.ShapeDtypeStruct((), np.dtype("float32")),
    "y": jax.ShapeDtypeStruct((), np.dtype("float32")),
}


def quiet(theta, key, record):
    return {**record, "y": theta * record["x"] + jax.random.normal(key)}


def prints(theta, key, record):
    jax.debug.print("{}", record["x"])
    return quiet(theta, key, record)


def calls_back(theta, key, record):
    shape = jax.ShapeDtypeStruct((), jnp.float32)
    seen = jax.pure_callback(
        lambda x: np.mean(x, keepdims=True),
        shape,
        record["x"],
        vmap_method="legacy_vectorized",
    )
    return {**record, "y": seen}


LINEAR = Model(
    lambda theta, record: -0.5 * (record["y"] - theta * record["x"]) ** 2,
    lambda theta: -0.5 * theta**2,
    0.3,
    simulate=quiet,
    responses={"y": None},
)


@pytest.mark.parametrize("simulate", [prints, calls_back])
def test_a_simulator_that_leaves_jax_is_refused(simulate):
    model = replace(LINEAR, simulate=simulate)
    with pytest.raises(InputError, match=r"simulate uses .* privacy boundary"):
        ConditionalCentring().influence(model, SHAPES, Grid(0.1), 100)


def test_a_simulator_never_sees_the_responses_of_a_record():
    def peeks(theta, key, record):
        return {**record, "y": record["y"] + 0.0 * theta + 0 * jax.random.normal(key)}

    influence = ConditionalCentring().influence(
        replace(LINEAR, simulate=peeks), SHAPES, Grid(0.1), 100
    )
    record = {"x": jnp.float32(1.0), "y": jnp.float32(77.125)}
    extras = influence.extras(replace(LINEAR, simulate=peeks), record)
    assert {float(chosen.responses["y"]) for chosen in extras.chosen} == {0.0}
