# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Dependence is followed through traced programs, and never missed."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmcmc.adapters.origins import origins

INPUTS = {name: jax.ShapeDtypeStruct((3,), np.float32) for name in "abc"}


def names(function):
    return {key: set(origin.names) for key, origin in origins(function, INPUTS).items()}


def test_results_know_what_they_are_made_of():
    def function(inputs):
        return {
            "one": jnp.sum(inputs["a"]) + 1,
            "two": inputs["a"] * inputs["c"],
            "none": jnp.ones(3),
            "shape": jnp.zeros(inputs["b"].shape[0]),
            "number": 2.0,
        }

    assert names(function) == {
        "one": {"a"},
        "two": {"a", "c"},
        "none": set(),
        "shape": set(),
        "number": set(),
    }


def test_compiled_functions_are_looked_into():
    @jax.jit
    def apart(x, y):
        return x + 1, jax.jit(jnp.sin)(y)

    def function(inputs):
        first, second = apart(inputs["a"], inputs["b"])
        return {"first": first, "second": second}

    assert names(function) == {"first": {"a"}, "second": {"b"}}


@pytest.mark.parametrize(
    "mix",
    [
        lambda x, y: jax.lax.cond(x[0] > 0, lambda: y, lambda: 2 * y),
        lambda x, y: jax.lax.fori_loop(0, 3, lambda _, z: z + x, y),
        lambda x, y: jax.lax.scan(lambda c, z: (c + z, c), jnp.sum(x), y)[1],
        lambda x, y: jnp.where(x > 0, y, 0.0),
        lambda x, y: y[jnp.argmax(x)],
        jax.vmap(jnp.add),
        lambda x, y: jax.grad(lambda z: jnp.sum(jnp.exp(z) * x))(y),
        lambda x, y: jax.nn.relu(x) + jax.nn.silu(y),
        lambda x, y: jnp.linalg.solve(jnp.diag(x), y),
    ],
)
def test_no_operation_hides_a_dependence(mix):
    found = names(lambda inputs: {"mixed": mix(inputs["a"], inputs["b"])})
    assert found["mixed"] == {"a", "b"}


def test_a_copy_is_known_as_one():
    def function(inputs):
        return {"same": inputs["b"], "new": inputs["b"] + 0.0, "part": inputs["b"][0]}

    found = origins(function, INPUTS)
    copies = {name: origin.copy_of for name, origin in found.items()}
    assert copies == {"same": "b", "new": None, "part": None}


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.booleans()), max_size=8)
)
def test_the_origin_of_any_sum_is_the_union(steps):
    """For random programs; what each line is made of is known beforehand."""
    expected = [{"a"}, {"b"}, {"c"}, set()]
    for left, right, _ in steps:
        size = len(expected)
        expected.append(expected[left % size] | expected[right % size])

    def program(inputs):
        values = [inputs["a"], inputs["b"], inputs["c"], jnp.ones(3)]
        for left, right, compiled in steps:
            add = jax.jit(jnp.add) if compiled else jnp.multiply
            values.append(add(values[left % len(values)], values[right % len(values)]))
        return dict(enumerate(values))

    assert list(names(program).values()) == expected
