# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Bad input fails before any record is read, with one message that helps.

Every mistake below is made with records that shout when they are read. Nothing about
the values of records is ever an error: odd values are the last part of this file.
"""

import decimal
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from hypothesis.extra import numpy as arrays

import dpmcmc
from dpmcmc import InputError, Model, RandomWalk
from dpmcmc.proposals import Proposed


class RecordsWereReadError(BaseException):
    """Raised when somebody reads records that nobody may read yet.

    No handler of errors takes it for one of its own.
    """


@dataclass
class Sealed:
    """An array by its shape and dtype, whose values must not be read."""

    shape: tuple[int, ...] = (1000,)
    dtype: np.dtype = field(default_factory=lambda: np.dtype(np.float64))

    def _read(self, *_: object, **__: object) -> Any:
        raise RecordsWereReadError

    __array__ = __iter__ = __getitem__ = __float__ = __bool__ = __eq__ = _read
    __hash__ = object.__hash__


def log_likelihood(theta: dict, record: Any) -> Any:
    return -((record - theta["mean"]) ** 2) / 2


def log_prior(theta: dict) -> Any:
    return -jnp.sum(theta["mean"] ** 2) / 2


MODEL = Model(log_likelihood, log_prior, initial={"mean": 0.0})

PRIVATE = {
    "epsilon": 1.0,
    "delta": 1e-6,
    "clip": 0.01,
    "proposal": RandomWalk(0.1),
    "progress": False,
}

NOT_PRIVATE = {"steps": 10, "proposal": RandomWalk(0.1), "progress": False}


def run_privately(**changes: Any) -> dpmcmc.Posterior:
    """Run `sample` with good settings, but for the changes."""
    all_ = {"model": MODEL, "records": Sealed(), **PRIVATE, **changes}
    return dpmcmc.sample(all_.pop("model"), all_.pop("records"), **all_)


def run_openly(**changes: Any) -> dpmcmc.Posterior:
    """Run `sample_not_private` with good settings, but for the changes."""
    all_ = {"model": MODEL, "records": Sealed(), **NOT_PRIVATE, **changes}
    return dpmcmc.sample_not_private(all_.pop("model"), all_.pop("records"), **all_)


def assert_refused(run: Callable[[], object], *parts: str) -> str:
    """The call is refused by one message that holds all parts, and by no traceback."""
    with pytest.raises(InputError) as caught:
        run()
    error = caught.value
    message = str(error)
    assert error.__cause__ is None
    assert error.__context__ is None or error.__suppress_context__
    for part in parts:
        assert part in message
    assert message.endswith("."), "a message is made of sentences"
    assert "\n" not in message
    return message


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


# Records.


def records_rows() -> list[Any]:
    whole, text = np.dtype(np.int64), np.dtype("U5")
    return [
        pytest.param(
            {"x": Sealed((10,)), "y": Sealed((9,))},
            ["unequal leading axes", "records['x']: 10", "records['y']: 9"],
            id="unequal leading axes",
        ),
        pytest.param(
            (Sealed((10, 3)), Sealed((3, 10), whole)),
            ["unequal leading axes", "records[0]: 10", "records[1]: 3"],
            id="unequal leading axes of matrices",
        ),
        pytest.param(Sealed((0,)), ["there are 0 records", "from 1 to"], id="N = 0"),
        pytest.param(
            {"x": Sealed((0, 4)), "y": Sealed((0,))},
            ["there are 0 records", "from 1 to"],
            id="N = 0 of several arrays",
        ),
        pytest.param(Sealed(()), ["Sealed", "common leading axis"], id="a scalar"),
        pytest.param(
            {"x": Sealed(), "name": Sealed(dtype=text)},
            ["records['name'] has dtype <U5", "numbers"],
            id="text",
        ),
        pytest.param(
            Sealed(dtype=np.dtype(object)), ["dtype object", "numbers"], id="objects"
        ),
        pytest.param(
            Sealed(dtype=np.dtype(complex)), ["dtype complex", "numbers"], id="complex"
        ),
        pytest.param(
            Sealed(dtype=np.dtype("M8[s]")), ["dtype datetime64", "numbers"], id="dates"
        ),
        pytest.param([1.0, 2.0], ["records[0] is a float", "arrays"], id="a list"),
        pytest.param(None, ["records hold no array"], id="nothing"),
        pytest.param({}, ["records hold no array"], id="an empty dict"),
        pytest.param("data.csv", ["records is a str", "table"], id="a file name"),
        pytest.param(3.5, ["records is a float", "arrays"], id="a number"),
    ]


@pytest.mark.parametrize("run", [run_privately, run_openly])
@pytest.mark.parametrize(("records", "parts"), records_rows())
def test_records(run: Callable[..., object], records: Any, parts: list[str]) -> None:
    assert_refused(lambda: run(records=records), *parts)
    assert_refused(lambda: dpmcmc.Records(records), *parts)


TABLES = [
    pytest.param(pd.DataFrame, id="pandas"),
    pytest.param(pl.DataFrame, id="polars"),
    pytest.param(pa.table, id="pyarrow"),
]


@pytest.mark.parametrize("table", TABLES)
def test_tables_must_hold_numbers_and_their_values_are_not_shown(
    table: Callable[[dict], Any],
) -> None:
    records = table({"x": [1.0, 2.0], "name": ["Secret", "Hidden"]})
    message = assert_refused(
        lambda: run_openly(records=records), "column 'name' holds", "numbers"
    )
    assert "Secret" not in message
    assert "Hidden" not in message


@pytest.mark.parametrize("table", TABLES)
def test_tables_must_hold_records(table: Callable[[dict], Any]) -> None:
    empty = table({"x": np.zeros(0)})
    assert_refused(lambda: run_openly(records=empty), "there are 0 records")


# Models.


def returns(value: Callable[[Any, Any], Any]) -> Model:
    return Model(value, log_prior, initial={"mean": 0.0})


def starts_at(value: Any, prior: Callable[[Any], Any] = lambda theta: 0.0) -> Model:
    return Model(lambda theta, record: 0.0 * record, prior, initial=value)


def fails(theta: dict, record: Any) -> Any:
    wide = jnp.ones(3)
    return jnp.sum(wide + jnp.ones(4))  # the line that the message must name


FAILING_LINE = fails.__code__.co_firstlineno + 2

MODEL_ROWS = [
    pytest.param(
        returns(lambda theta, record: jnp.stack([record, record])),
        ["log_likelihood(theta, record) returns float32[2]", "one real number"],
        id="a likelihood of two numbers",
    ),
    pytest.param(
        returns(lambda theta, record: jnp.reshape(record, (1,))),
        ["log_likelihood(theta, record) returns float32[1]", "one real number"],
        id="a likelihood of one number in an array",
    ),
    pytest.param(
        returns(lambda theta, record: None),
        ["log_likelihood(theta, record) returns None", "one real number"],
        id="a likelihood without a result",
    ),
    pytest.param(
        returns(lambda theta, record: (record, record)),
        ["log_likelihood(theta, record) returns (float32", "one real number"],
        id="a likelihood of a pair",
    ),
    pytest.param(
        returns(lambda theta, record: record + 1j),
        ["log_likelihood(theta, record) returns complex64", "one real number"],
        id="a complex likelihood",
    ),
    pytest.param(
        returns(fails),
        [
            "log_likelihood failed with",
            f"test_bad_input.py:{FAILING_LINE}",
            "float32[scalar]",
        ],
        id="a likelihood that fails",
    ),
    pytest.param(
        returns(lambda theta, record: record if record > 0 else 0.0),
        ["log_likelihood failed with", "JAX can trace"],
        id="a likelihood that branches",
    ),
    pytest.param(
        returns(lambda theta, record: record["x"]),
        ["log_likelihood failed with", "float32[scalar]"],
        id="a likelihood of other records",
    ),
    pytest.param(
        returns(lambda theta, record: theta["slope"] * record),
        ["log_likelihood failed with KeyError", "'slope'", "mean: float32[scalar]"],
        id="a likelihood of other parameters",
    ),
    pytest.param(
        returns(lambda theta: 0.0),
        ["log_likelihood failed with TypeError", "positional argument"],
        id="a likelihood of no record",
    ),
    pytest.param(
        starts_at(0.0, lambda theta: jnp.stack([theta, theta])),
        ["log_prior(theta) returns float32[2]", "one real number"],
        id="a prior of two numbers",
    ),
    pytest.param(
        starts_at(0.0, lambda theta: theta["mean"]),
        ["log_prior failed with"],
        id="a prior of other parameters",
    ),
    pytest.param(
        starts_at(-1.0, jnp.log),
        ["log_prior is nan at the starting point", "must be finite", "support"],
        id="a prior that is NaN at the start",
    ),
    pytest.param(
        starts_at(0.0, jnp.log),
        ["log_prior is -inf at the starting point", "must be finite", "support"],
        id="a prior that is zero at the start",
    ),
    pytest.param(
        starts_at(0.0, lambda theta: -jnp.log(theta)),
        ["log_prior is inf at the starting point", "must be finite"],
        id="a prior that is infinite at the start",
    ),
    pytest.param(
        starts_at({"a": 0.0, "b": np.array([1.0, math.nan])}),
        ["initial['b'] is not finite in float32", "place to start"],
        id="a start that is no number",
    ),
    pytest.param(
        starts_at(np.float64(1e300)),
        ["initial is not finite in float32", "place to start"],
        id="a start beyond the precision",
    ),
    pytest.param(
        starts_at({"w": np.zeros((0, 2))}),
        ["initial['w'] is empty in float32", "at least one"],
        id="an empty parameter",
    ),
    *(
        pytest.param(
            starts_at(start),
            [f"a parameter of θ is named {name!r}", "Rename it."],
            id=f"a parameter named {name}",
        )
        for name, start in [
            ("chain", {"chain": 0.0, "other": 0.0}),
            ("draw", {"draw": np.zeros(2)}),
            ("a/b", {"a/b": 0.0}),
            ("a.b", {"a": {"b": 0.0}, "a.b": 0.0}),
            ("w_dim_0", {"w": np.zeros(2), "w_dim_0": 0.0}),
        ]
    ),
    pytest.param(None, ["model is a NoneType", "dpmcmc.Model"], id="no model"),
    pytest.param(
        log_likelihood, ["model is a function", "dpmcmc.Model"], id="a bare function"
    ),
    pytest.param(Model, ["model is a type", "dpmcmc.Model"], id="a class"),
]


@pytest.mark.parametrize("run", [run_privately, run_openly])
@pytest.mark.parametrize(("model", "parts"), MODEL_ROWS)
def test_models(run: Callable[..., object], model: Any, parts: list[str]) -> None:
    message = assert_refused(lambda: run(model=model), *parts)
    assert "Traced<" not in message


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ((None, log_prior, 0.0), ["log_likelihood is a NoneType", "function"]),
        ((log_likelihood, 1.0, 0.0), ["log_prior is a float", "not its result"]),
        ((log_likelihood, log_prior, None), ["initial holds no parameter"]),
        ((log_likelihood, log_prior, {}), ["initial holds no parameter"]),
        ((log_likelihood, log_prior, "0"), ["initial holds '0'", "real number"]),
        ((log_likelihood, log_prior, {"a": 1j}), ["initial holds 1j", "real number"]),
        ((log_likelihood, log_prior, True), ["initial holds True", "real number"]),
    ],
)
def test_making_a_model(arguments: tuple, parts: list[str]) -> None:
    assert_refused(lambda: Model(*arguments), *parts)


# Proposals.


@dataclass(frozen=True)
class Suggests:
    """A user's own proposal, which suggests whatever it was told to."""

    what: Callable[[Any], Any]

    def fit(self, theta: Any) -> "Suggests":
        return self

    def propose(self, theta: Any, noise: Any) -> Any:
        return self.what(theta)


PROPOSAL_ROWS = [
    *(
        pytest.param(
            value, [f"proposal is a {name};", "dpmcmc.RandomWalk(scale="], id=name
        )
        for name, value in [
            ("NoneType", None),
            ("float", 0.1),
            ("str", "walk"),
            ("ndarray", np.eye(2)),
            ("type", RandomWalk),
        ]
    ),
    *(
        pytest.param(
            RandomWalk(scale),
            [f"scale is {scale!r};", "finite number above 0"],
            id=name,
        )
        for name, scale in [
            ("zero", 0.0),
            ("negative", -1.0),
            ("NaN", math.nan),
            ("infinite", math.inf),
            ("one is zero", {"mean": 0}),
        ]
    ),
    *(
        pytest.param(
            RandomWalk(scale),
            [
                "scale is",
                "but θ is {mean: float32[scalar]}",
                "structure of θ",
                "(1, 1)",
            ],
            id=f"scale {name}",
        )
        for name, scale in [
            ("text", "wide"),
            ("nothing", None),
            ("complex", 1j),
            ("text inside", {"mean": "wide"}),
            ("of other names", {"slope": 0.1}),
            ("of more names", {"mean": 0.1, "slope": 0.1}),
            ("a list", [0.1, 0.1]),
            ("a vector", np.ones(2)),
            ("a matrix too large", np.eye(2)),
        ]
    ),
    *(
        pytest.param(
            RandomWalk(np.array([[value]])),
            ["1 × 1 matrix", "symmetric and positive definite"],
            id=f"covariance {value}",
        )
        for value in (0.0, -1.0, math.nan, math.inf)
    ),
    *(
        pytest.param(
            Suggests(what),
            ["proposal suggests", "but θ is {mean: float32[scalar]}", "structure"],
            id=f"suggests {name}",
        )
        for name, what in [
            ("a bare number", lambda theta: Proposed(theta["mean"], 0.0)),
            ("another name", lambda theta: Proposed({"m": theta["mean"]}, 0.0)),
            ("another shape", lambda theta: Proposed({"mean": jnp.zeros(2)}, 0.0)),
            ("two log-ratios", lambda theta: Proposed(theta, jnp.zeros(2))),
        ]
    ),
    *(
        pytest.param(
            Suggests(what), ["proposal failed with", error], id=f"suggests {name}"
        )
        for name, what, error in [
            ("nothing", lambda theta: None, "TypeError"),
            ("no log-ratio", lambda theta: (theta,), "ValueError"),
            ("what is not there", lambda theta: theta["slope"], "KeyError"),
        ]
    ),
]


@pytest.mark.parametrize("run", [run_privately, run_openly])
@pytest.mark.parametrize(("proposal", "parts"), PROPOSAL_ROWS)
def test_proposals(run: Callable[..., object], proposal: Any, parts: list[str]) -> None:
    assert_refused(lambda: run(proposal=proposal), *parts)


# What the values of records may not do: raise, warn, or change what is said.

ODD = [math.nan, math.inf, -math.inf, 1e300, -1e300, 5e-324, -0.0, 1.0]


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("value", ODD)
def test_odd_values_neither_raise_nor_warn(
    value: float, precision: str, capfd: pytest.CaptureFixture[str]
) -> None:
    odd = run_privately(records=np.full(1000, value), precision=precision)
    plain = run_privately(records=np.ones(1000), precision=precision)
    assert odd.statement == plain.statement
    assert np.isfinite(odd.draws["mean"]).all()
    assert capfd.readouterr() == ("", "")


@settings(max_examples=25)
@given(arrays.arrays(np.float64, 50, elements=some.floats(width=64)))
def test_any_values_neither_raise_nor_warn(values: np.ndarray) -> None:
    posterior = run_privately(records=values, epsilon=None, steps=8, warmup=0)
    assert posterior.statement.is_private
    assert np.isfinite(posterior.draws["mean"]).all()


@pytest.mark.parametrize("table", TABLES)
def test_missing_values_in_tables_neither_raise_nor_warn(
    table: Callable[[dict], Any], capfd: pytest.CaptureFixture[str]
) -> None:
    model = Model(
        lambda theta, record: log_likelihood(theta, record["x"] + record["n"]),
        log_prior,
        initial={"mean": 0.0},
    )
    records = table({"x": [1.0, None, math.nan, 4.0], "n": [1, 2, 3, None]})
    posterior = run_openly(model=model, records=records)
    assert np.isfinite(posterior.draws["mean"]).all()
    assert capfd.readouterr() == ("", "")


def test_a_likelihood_may_return_anything_at_a_record() -> None:
    """Infinite, NaN and huge log-likelihoods are clipped, never reported."""
    model = Model(
        lambda theta, record: jnp.log(record) * 1e30 / theta["mean"],
        lambda theta: 0.0,
        initial={"mean": 0.0},
    )
    posterior = run_openly(model=model, records=np.linspace(-1, 1, 101), clip=1.0)
    assert np.isfinite(posterior.draws["mean"]).all()


def test_messages_never_hold_the_value_of_a_record() -> None:
    """A likelihood that prints its record in its error prints a tracer, no number."""

    def tells(theta: dict, record: Any) -> Any:
        raise ValueError(f"bad record {record}")

    secret = 123456.789
    message = assert_refused(
        lambda: run_openly(model=returns(tells), records=np.full(10, secret)),
        "log_likelihood failed with ValueError",
    )
    assert not re.search(r"123456", message)
