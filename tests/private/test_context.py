# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Inside the boundary, arithmetic is the same whatever the user has set."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_chains import make

from dpmcmc.model.model import Model
from dpmcmc.private.context import boundary_arithmetic
from dpmcmc.proposals import RandomWalk

HOSTILE_SETTINGS = [
    ("jax_enable_x64", True),
    ("jax_debug_nans", True),
    ("jax_debug_infs", True),
    ("jax_disable_jit", True),
    ("jax_numpy_dtype_promotion", "strict"),
    ("jax_numpy_rank_promotion", "raise"),
    ("jax_numpy_rank_promotion", "warn"),
]


@pytest.fixture(
    params=HOSTILE_SETTINGS, ids=lambda setting: "=".join(map(str, setting))
)
def setting(request):
    """One setting of JAX that the user has changed for the whole process."""
    name, value = request.param
    before = getattr(jax.config, name)
    jax.config.update(name, value)
    yield name, value
    jax.config.update(name, before)


def compute(numbers):
    """Arithmetic that every one of the settings would stop, change or remark on."""

    @jax.jit
    def inner(x):
        assert isinstance(x, jax.core.Tracer)
        small = x.astype(jnp.float32)
        table = jnp.ones((2, 1)) * (x + small)
        return jnp.log(table), 1 / (table - table), x.astype(jnp.int64) * 2**40

    return [np.asarray(result) for result in inner(jnp.asarray(numbers))]


NUMBERS = np.array([-1.0, 0.0, 3.0])


def test_a_setting_of_the_user_changes_nothing_inside(setting):
    with boundary_arithmetic():
        results = compute(NUMBERS)
    assert [result.dtype for result in results] == [np.float64, np.float64, np.int64]
    assert np.isnan(results[0][0, 0])
    assert np.all(np.isinf(results[1]))
    assert results[2].tolist() == [-(2**40), 0, 3 * 2**40]


def test_the_settings_of_the_user_are_put_back(setting):
    name, value = setting
    with boundary_arithmetic():
        pass
    assert getattr(jax.config, name) == value

    def fail():
        with boundary_arithmetic():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert getattr(jax.config, name) == value


@pytest.mark.parametrize("name", ["jax_debug_nans", "jax_debug_infs"])
def test_the_settings_would_stop_a_run_outside(name):
    """So that the tests above can fail."""
    before = getattr(jax.config, name)
    jax.config.update(name, True)
    try:
        with pytest.raises(FloatingPointError):
            jax.jit(lambda x: x / 0)(jnp.array([0.0, 1.0]))
    finally:
        jax.config.update(name, before)


def test_no_number_of_numpy_warns_or_raises_inside():
    signalling = np.array([0x7FF0000000000001], np.uint64).view(np.float64)
    numbers = np.concatenate([signalling, [1e300, 5e-324, np.inf]])
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        before = np.geterr()
        with boundary_arithmetic():
            narrow = numbers.astype(np.float32)
            assert np.isnan(narrow[0])
            assert np.isnan(narrow[3] - narrow[3])
        assert np.geterr() == before
        with pytest.raises(FloatingPointError):
            np.array([1e300]).astype(np.float32)


@pytest.mark.parametrize("enabled", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_functions_of_the_user_run_in_the_precision_of_the_chain(dtype, enabled):
    """Also for numbers that they make themselves, whatever the user has set."""
    seen = set()

    def remember(theta, *record):
        made = jnp.asarray(np.linspace(0.0, 1.0, 3)), jnp.zeros(2)
        seen.update(x.dtype for x in (theta, *record, *made))
        return -(jnp.sum(made[0] * theta) ** 2)

    with jax.enable_x64(True):
        start = jnp.asarray(0.0, dtype)
        kernel = RandomWalk(0.3).fit(start)
    with jax.enable_x64(enabled):
        make(np.zeros(5), Model(remember, remember, 0), kernel, start).advance(3)
    assert seen == {np.dtype(dtype)}
