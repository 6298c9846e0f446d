# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Settings and budgets that cannot be used are refused before a record is read."""

import decimal
import math
from collections.abc import Callable

import jax
import pytest
from refusals import (
    PRIVATE,
    RecordsWereReadError,
    assert_refused,
    run_openly,
    run_privately,
)


@pytest.mark.parametrize("run", [run_privately, run_openly])
def test_good_input_reads_the_records(run: Callable[[], object]) -> None:
    """So that the other tests of this file can fail."""
    with pytest.raises(RecordsWereReadError):
        run()


# Numbers.

NO_POSITIVE_NUMBER = [
    0,
    -1.0,
    math.nan,
    math.inf,
    -math.inf,
    "1",
    True,
    [1.0],
    1j,
    decimal.Decimal(1),
]
NO_PROBABILITY = [0, 1, 1.0, -1e-9, 1.5, math.nan, math.inf, "0.1", None, True, [0.1]]
NO_COUNT = [0, -3, 1.0, 2.5, "4", True, math.nan, [2]]


@pytest.mark.parametrize("value", [*NO_POSITIVE_NUMBER, None], ids=repr)
def test_clip(value: object) -> None:
    assert_refused(
        lambda: run_privately(clip=value),
        f"clip is {value!r};",
        "a finite number above 0",
    )


@pytest.mark.parametrize("value", NO_POSITIVE_NUMBER, ids=repr)
def test_clip_without_privacy(value: object) -> None:
    assert_refused(
        lambda: run_openly(clip=value),
        f"clip is {value!r};",
        "a finite number above 0",
        "Give None for no clip.",
    )


@pytest.mark.parametrize("value", [5e-324, 1e-40, 1e3, 1e308])
def test_a_clip_that_no_grid_can_hold(value: float) -> None:
    assert_refused(
        lambda: run_privately(clip=value),
        f"clip is {value:g};",
        "between 1e-30 and 100",
    )


@pytest.mark.parametrize("value", [5e-324, 1e-40, 1e31, 1e308])
def test_a_clip_that_no_grid_can_hold_without_privacy(value: float) -> None:
    assert_refused(
        lambda: run_openly(clip=value), f"clip is {value:g};", "between 1e-30 and 1e+30"
    )


@pytest.mark.parametrize("value", NO_POSITIVE_NUMBER, ids=repr)
def test_epsilon(value: object) -> None:
    assert_refused(
        lambda: run_privately(epsilon=value),
        f"epsilon is {value!r};",
        "a finite number above 0",
        "Common budgets",
    )


@pytest.mark.parametrize("value", NO_PROBABILITY, ids=repr)
@pytest.mark.parametrize("budget", [{}, {"epsilon": None, "steps": 10}])
def test_delta(value: object, budget: dict) -> None:
    assert_refused(
        lambda: run_privately(delta=value, **budget),
        f"delta is {value!r};",
        "strictly between 0 and 1",
        "well below 1/N",
    )


@pytest.mark.parametrize("run", [run_privately, run_openly])
@pytest.mark.parametrize("name", ["chains", "chunk"])
@pytest.mark.parametrize("value", NO_COUNT, ids=repr)
def test_counts(run: Callable[..., object], name: str, value: object) -> None:
    assert_refused(
        lambda: run(**{name: value}),
        f"{name} is {value!r};",
        "a whole number of at least 1",
    )


@pytest.mark.parametrize("value", NO_COUNT, ids=repr)
def test_steps(value: object) -> None:
    for run in (
        lambda: run_openly(steps=value),
        lambda: run_privately(epsilon=None, steps=value),
    ):
        assert_refused(run, f"steps is {value!r};", "a whole number of at least 1")


@pytest.mark.parametrize("value", [-1, 2.0, "2", True, [2]], ids=repr)
def test_warmup(value: object) -> None:
    assert_refused(
        lambda: run_openly(warmup=value),
        f"warmup is {value!r};",
        "a whole number of at least 0",
        "Give 0 to keep every step",
    )


@pytest.mark.parametrize("value", [10, 11, 10**9])
def test_a_warmup_that_leaves_no_draw(value: int) -> None:
    assert_refused(
        lambda: run_openly(warmup=value), f"warmup is {value},", "10 steps", "below"
    )


@pytest.mark.parametrize("value", [-1, 1.0, "seed", True, [1]], ids=repr)
def test_seed(value: object) -> None:
    assert_refused(
        lambda: run_openly(seed=value),
        f"seed is {value!r};",
        "a whole number of at least 0",
        "Give None for a fresh tape.",
    )


def test_the_private_door_takes_no_seed() -> None:
    with pytest.raises(TypeError, match="seed"):
        run_privately(seed=1)


@pytest.mark.parametrize("value", ["float16", "double", "", 64, float], ids=repr)
@pytest.mark.parametrize("run", [run_privately, run_openly])
def test_precision(run: Callable[..., object], value: object) -> None:
    assert_refused(
        lambda: run(precision=value),
        f"precision is {value!r};",
        "'float32' or 'float64'",
    )


@pytest.mark.parametrize("value", [[], 1, "cpu", ["cpu"], [0], [None]], ids=repr)
def test_devices(value: object) -> None:
    assert_refused(
        lambda: run_openly(devices=value), f"devices is {value!r};", "JAX devices"
    )


def test_devices_given_twice() -> None:
    twice = [jax.local_devices()[0]] * 2
    assert_refused(lambda: run_openly(devices=twice), "different JAX devices")


def test_a_device_on_which_nothing_is_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpmcmc.loop._PROVEN_PLATFORMS", frozenset({"gpu"}))
    assert_refused(run_openly, "platform cpu", "Give devices of one of gpu")


# Budgets.


@pytest.mark.parametrize("budget", [{"epsilon": None}, {"steps": 5}])
def test_a_budget_is_either_an_epsilon_or_steps(budget: dict) -> None:
    assert_refused(
        lambda: run_privately(**budget), "epsilon is", "steps is", "give one of the two"
    )


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"clip": 10.0}, id="a clip too wide"),
        pytest.param({"epsilon": 1e-4}, id="an ε too small"),
        pytest.param({"epsilon": 0.03, "chains": 40}, id="too many chains"),
        pytest.param({"delta": 1e-300}, id="a δ below all arithmetic"),
    ],
)
def test_a_budget_that_buys_no_step(change: dict) -> None:
    wanted = {**PRIVATE, **change}
    assert_refused(
        lambda: run_privately(**change),
        f"the budget ε = {wanted['epsilon']:g}, δ = {wanted['delta']:g} buys",
        f"at clip {wanted['clip']:g}",
        f"needs {wanted.get('chains', 1)}.",
        "Choose a smaller clip, a larger budget, or fewer chains.",
    )


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"clip": 100.0, "steps": 5000}, id="a clip too wide"),
        pytest.param({"delta": 1e-300, "steps": 5}, id="a δ below all arithmetic"),
    ],
)
def test_steps_whose_cost_cannot_be_proven(change: dict) -> None:
    wanted = {**PRIVATE, **change}
    assert_refused(
        lambda: run_privately(epsilon=None, **change),
        f"no ε can be proven for {wanted['steps']:,} bits at clip {wanted['clip']:g}",
        f"δ = {wanted['delta']:g}",
        "Choose a smaller clip",
    )
