# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Settings and budgets that cannot be used are refused before a record is read."""

import decimal
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import pytest
from refusals import (
    MODEL,
    RecordsWereReadError,
    Sealed,
    assert_refused,
    run_openly,
    run_privately,
)

from dpmcmc import (
    Barker,
    Coarsening,
    GaussianBarker,
    MinibatchBarker,
    RandomWalk,
    SufficientStatistics,
    models,
)
from dpmcmc.correction import correction_for
from dpmcmc.influence.choices import Shrinking

WALK = RandomWalk(0.1)


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


@pytest.mark.parametrize("value", NO_POSITIVE_NUMBER, ids=repr)
@pytest.mark.parametrize("run", [run_privately, run_openly])
def test_clip(run: Callable[..., object], value: object) -> None:
    assert_refused(lambda: run(clip=value), f"clip is {value!r};")


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
@pytest.mark.parametrize("run", [run_privately, run_openly])
def test_epsilon(run: Callable[..., object], value: object) -> None:
    assert_refused(lambda: run(epsilon=value), f"epsilon is {value!r};")


@pytest.mark.parametrize("value", NO_PROBABILITY, ids=repr)
@pytest.mark.parametrize("budget", [{}, {"epsilon": None, "steps": 10}])
@pytest.mark.parametrize("run", [run_privately, run_openly])
def test_delta(run: Callable[..., object], value: object, budget: dict) -> None:
    assert_refused(lambda: run(delta=value, **budget), f"delta is {value!r};")


@pytest.mark.parametrize("name", ["chains", "steps"])
@pytest.mark.parametrize("value", NO_COUNT, ids=repr)
@pytest.mark.parametrize("run", [run_privately, run_openly])
def test_counts(run: Callable[..., object], name: str, value: object) -> None:
    assert_refused(lambda: run(**{name: value}), f"{name} is {value!r};")


STATISTICS = {
    "model": models.poisson(20.0),
    "records": {"x": Sealed()},
    "method": SufficientStatistics(),
}


@pytest.mark.parametrize("name", ["chains", "steps"])
def test_counts_of_a_method_that_spends_before_the_chain(name: str) -> None:
    assert_refused(lambda: run_privately(**STATISTICS, **{name: 0}), f"{name} is 0;")


@pytest.mark.parametrize("value", [-1, 2.0, "2", True, [2]], ids=repr)
def test_warmup(value: object) -> None:
    assert_refused(lambda: run_openly(warmup=value), f"warmup is {value!r};")


@pytest.mark.parametrize("value", [10, 11, 10**9])
def test_a_warmup_that_leaves_no_draw(value: int) -> None:
    assert_refused(lambda: run_openly(warmup=value), f"warmup is {value},", "10 steps")


@pytest.mark.parametrize("value", [-1, 1.0, "seed", True, [1]], ids=repr)
def test_seed(value: object) -> None:
    assert_refused(lambda: run_openly(seed=value), f"seed is {value!r};")


def test_the_private_door_takes_no_seed() -> None:
    with pytest.raises(TypeError, match="seed"):
        run_privately(seed=1)


@pytest.mark.parametrize("value", ["float16", "double", "", 64, float], ids=repr)
@pytest.mark.parametrize("run", [run_privately, run_openly])
def test_precision(run: Callable[..., object], value: object) -> None:
    assert_refused(lambda: run(precision=value), f"precision is {value!r};")


@pytest.mark.parametrize("value", [[], 1, "cpu", ["cpu"], [0], [None]], ids=repr)
def test_devices(value: object) -> None:
    assert_refused(lambda: run_openly(devices=value), f"devices is {value!r};")


def test_devices_given_twice() -> None:
    twice = [jax.local_devices()[0]] * 2
    assert_refused(lambda: run_openly(devices=twice), "devices")


def test_a_device_on_which_nothing_is_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    where = "dpmcmc.sampling.problem._PROVEN_PLATFORMS"
    monkeypatch.setattr(where, frozenset({"gpu"}))
    assert_refused(run_openly, "platform cpu")


# Methods.


def minibatch(**changes: Any) -> MinibatchBarker:
    return MinibatchBarker(**{"batch": 100, "proposal": WALK, **changes})


METHODS = {
    "text": ("barker", ["method is a str"]),
    "a class": (Barker, ["method is a type"]),
    "a batch too large": (minibatch(batch=1001), ["batch is 1001", "1000 records"]),
    "an empty batch": (minibatch(batch=0), ["batch is 0"]),
    "half a record": (minibatch(batch=2.5), ["batch is 2.5"]),
    "a variance too large": (minibatch(variance=3.3), ["variance is 3.3"]),
    "a negative variance": (minibatch(variance=-1), ["variance is -1"]),
    "a batch with a bad clip": (minibatch(clip=0.0), ["clip is 0.0"]),
    "a Gaussian variance": (
        GaussianBarker(clip=0.1, proposal=WALK, variance=4.0),
        ["variance is 4"],
    ),
    "another correction": (
        minibatch(correction=correction_for(1.5)),
        ["1.5", "variance is 2.0"],
    ),
    "no proposal": (Barker(clip=0.1), ["proposal"]),
    "no proposal for a batch": (minibatch(proposal=None), ["proposal"]),
    "clipping by number": (
        Barker(clip=0.1, proposal=WALK, clipping=0.1),
        ["clipping is a float"],
    ),
    "shrinking without responses": (
        Barker(clip=0.1, proposal=WALK, clipping=Shrinking()),
        ["responses"],
    ),
    "no statistics": (SufficientStatistics(), ["statistics"]),
    **{
        f"tempering {tempering!r}": (
            Barker(clip=0.1, proposal=WALK, tempering=tempering),
            [f"{name} is {value}"],
        )
        for tempering, name, value in [
            (0, "tempering", "0"),
            (-5.0, "tempering", "-5.0"),
            (1001, "tempering", "1001"),
            (math.nan, "tempering", "nan"),
            (Coarsening(beta=0), "beta", "0"),
        ]
    },
}


@pytest.mark.parametrize("run", [run_privately, run_openly])
@pytest.mark.parametrize("method", METHODS)
def test_methods(run: Callable[..., object], method: str) -> None:
    chosen, parts = METHODS[method]
    assert_refused(lambda: run(method=chosen), *parts)


def test_a_batch_s_own_variance_leaves_room_for_noise() -> None:
    assert_refused(
        lambda: run_privately(method=minibatch(variance=1.0)), "variance is 1.0"
    )


def test_a_tape_has_words_for_a_number_of_steps() -> None:
    method = minibatch(batch=1000)
    assert_refused(lambda: run_openly(method=method, steps=10**10), "steps")


def test_a_proposal_is_refused_before_statistics_are_released() -> None:
    method = SufficientStatistics(proposal=RandomWalk(-1.0))
    assert_refused(lambda: run_privately(**{**STATISTICS, "method": method}), "scale")


def test_statistics_need_continuous_parameters() -> None:
    model = replace(STATISTICS["model"], initial={"log_rate": 1})
    assert_refused(lambda: run_privately(**{**STATISTICS, "model": model}), "initial")


# Budgets.


def test_without_epsilon_and_steps_there_is_no_length() -> None:
    assert_refused(lambda: run_privately(epsilon=None), "epsilon", "steps")
    assert_refused(lambda: run_openly(steps=None), "epsilon", "steps")


def test_statistics_need_epsilon() -> None:
    assert_refused(lambda: run_privately(**STATISTICS, epsilon=None), "epsilon")


@pytest.mark.parametrize("missing", [{}, {"epsilon": None, "steps": 5}])
def test_a_clip_can_be_missing_only_beside_steps_and_epsilon(missing: dict) -> None:
    assert_refused(lambda: run_privately(clip=None, **missing), "clip")


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
    wanted = {"epsilon": 1.0, "delta": 1e-6, **change}
    assert_refused(
        lambda: run_privately(**change),
        f"ε = {wanted['epsilon']:g}",
        f"δ = {wanted['delta']:g}",
        f"needs {wanted.get('chains', 1)}.",
    )


def test_a_budget_that_buys_more_steps_than_anyone_meant() -> None:
    assert_refused(lambda: run_privately(clip=1e-6), "steps")


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"clip": 100.0, "steps": 5000}, id="a clip too wide"),
        pytest.param({"delta": 1e-300, "steps": 5}, id="a δ below all arithmetic"),
    ],
)
def test_steps_whose_cost_cannot_be_proven(change: dict) -> None:
    assert_refused(lambda: run_privately(epsilon=None, **change), "no ε can be proven")


def test_steps_that_cost_more_than_the_budget() -> None:
    assert_refused(lambda: run_privately(steps=10**5), "ε = ", "above the 1 ")


def test_all_of_clip_steps_and_epsilon_may_be_given_where_they_fit() -> None:
    with pytest.raises(RecordsWereReadError):
        run_privately(model=MODEL, steps=10)
