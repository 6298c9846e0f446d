# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Preparation: each step does what it says, by public numbers, to one record."""

import doctest
import math
from typing import Any

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from refusals import Sealed, assert_refused, run_openly, run_privately
from runs import seeded

import dpmcmc.model.preparation.declaration
from dpmcmc import InputError, Model
from dpmcmc.model.preparation import (
    Clamp,
    ClampNorm,
    Copy,
    Log,
    OneHot,
    Preparation,
    Scale,
    Stack,
    Standardise,
)

NAN, INF = math.nan, math.inf
AGE = jax.ShapeDtypeStruct((), np.float32)


class Sly(Clamp):
    """A step of the user's own making could show the record."""

    def __call__(self, value: Any) -> Any:
        return jax.debug.print("{}", value) or value


def prepared(columns: Any, record: Any) -> Any:
    """One record prepared in float64, as NumPy arrays."""
    with jax.enable_x64(True):
        return jax.tree.map(np.asarray, Preparation(columns)(record))


@pytest.mark.parametrize(
    ("step", "value", "result"),
    [
        (Clamp(0, 120), 150.0, 120),
        (Clamp(0, 120), -INF, 0),
        (Clamp(0, 120), INF, 120),
        (Clamp(0, 120), 30.5, 30.5),
        (Clamp(0, 120), NAN, NAN),
        (Clamp(0, 0.5), True, 0.5),
        (Clamp([0, -1], [1, 5]), [3.0, -2.0], [1, -1]),
        (Clamp(0, [1, 5]), [3.0, 7.0], [1, 5]),
        (ClampNorm(10), [3, 4], [3, 4]),
        (ClampNorm(1), [3, -4], [0.6, -0.8]),
        (ClampNorm(2), [0, 0], [0, 0]),
        (ClampNorm(2), [3e150, 4e150], [1.2, 1.6]),
        (ClampNorm(2), [3e300, -1], [2, 0]),
        (ClampNorm(2), [-INF, 1], [-2, 0]),
        (ClampNorm(2), [3e-200, 0], [3e-200, 0]),
        (ClampNorm(2), [NAN, 1], [NAN, 1]),
        (ClampNorm(2), -5, -2),
        (Scale(10, 20), 15, 0.5),
        (Scale(10, 20), 25, 1.5),
        (Scale(10, 20, to=(-1, 1)), 10, -1),
        (Scale([0, 10], [1, 20]), [0.5, 20], [0.5, 1]),
        (Scale(10, 20), NAN, NAN),
        (Standardise(5, 2), 9, 2),
        (Standardise([5, 0], [2, 4]), [9, 1], [2, 0.25]),
        (Log(), math.e, 1),
        (Log(), 0, NAN),
        (Log(), -1, NAN),
        (OneHot(3), 1, [0, 1, 0]),
        (OneHot(3), True, [0, 1, 0]),
        (OneHot(3, drop_first=True), 0, [0, 0]),
        (OneHot([5, 2]), 2.0, [0, 1]),
        (OneHot(3), 3, [NAN] * 3),
        (OneHot(3), -1, [NAN] * 3),
        (OneHot(3), 1.5, [NAN] * 3),
        (OneHot(3), NAN, [NAN] * 3),
        (OneHot(3, drop_first=True), 9, [NAN] * 2),
    ],
    ids=str,
)
def test_a_step_does_what_it_says(step: Any, value: Any, result: Any) -> None:
    """On a column, and on a record that is one bare array."""
    for found in (
        prepared({"x": step}, {"x": value})["x"],
        prepared(step, np.asarray(value)),
    ):
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, result, rtol=1e-12, atol=1e-99)


@given(st.lists(st.floats(width=32), min_size=1, max_size=5))
def test_no_vector_comes_out_longer_than_its_bound(values: list[float]) -> None:
    """Infinite entries included; what is not a number stays so."""
    (found,) = jax.tree.leaves(Preparation(ClampNorm(3))(np.array(values, np.float32)))
    if np.any(np.isnan(values)):
        assert np.any(np.isnan(found))
    else:
        assert np.linalg.norm(np.asarray(found, float)) <= 3 * (1 + 1e-6)


@given(st.floats(width=32), st.floats(-1e3, 1e3), st.floats(1e-3, 1e3))
def test_nothing_comes_out_beyond_its_clamp(x: float, low: float, width: float) -> None:
    found = prepared(Clamp(low, low + width), np.asarray(x))
    assert np.isnan(x) == np.isnan(found)
    assert np.isnan(x) or low <= found <= low + width


def test_columns_are_prepared_in_order_and_others_stay() -> None:
    record = {"age": 150, "region": 2, "income": 50.0, "code": np.int32(7)}
    found = prepared(
        {
            "age": [Clamp(0, 120), Scale(0, 120)],
            "region": OneHot(3),
            "x": [Stack(["age", "region"], intercept=True), ClampNorm(10)],
            "y": [Copy("income"), Clamp(0, 40)],
        },
        record,
    )
    np.testing.assert_array_equal(found["x"], [1, 1, 0, 0, 1])
    assert found["y"] == 40
    assert found["income"] == 50.0
    assert found["code"].dtype == np.int32
    assert record == {"age": 150, "region": 2, "income": 50.0, "code": 7}


def test_a_stack_reads_columns_as_they_are_by_then() -> None:
    columns = {"x": Stack(["a"]), "a": Clamp(0, 1)}
    assert prepared(columns, {"a": 5.0})["x"] == [5.0]


def test_one_preparation_then_another() -> None:
    first = Preparation({"x": Stack(["a", "b"])})
    second = Preparation({"x": ClampNorm(1)})
    third = Preparation({"y": [Copy("x"), Standardise(0, 2)]})
    for both in (first.then(second).then(third), first.then(second.then(third))):
        found = both({"a": 3.0, "b": 4.0})
        np.testing.assert_allclose(found["x"], [0.6, 0.8], rtol=1e-6)
        np.testing.assert_allclose(found["y"], [0.3, 0.4], rtol=1e-6)
        assert both.describe() == (
            "x stacked from a, b",
            "x shrunk to a length of at most 1",
            "y copied from x, then less 0, divided by 2",
        )


def test_it_says_what_it_does() -> None:
    preparation = Preparation(
        {
            "age": [Clamp(0, 120), Scale(0, 120)],
            "income": [Clamp(1, 1_234_567), Log()],
            "region": OneHot(4, drop_first=True),
            "group": OneHot([1, 2, 9]),
            "both": Clamp([0, -1], [1, 0.1]),
            "x": Stack(["age", "region"], intercept=True),
        }
    )
    assert preparation.describe() == (
        "age clamped to [0, 120], then scaled from [0, 120] to [0, 1]",
        "income clamped to [1, 1234567], then its logarithm taken",
        "region coded as one of the levels 0 to 3, the first left out",
        "group coded as one of the levels 1, 2, 9",
        "both clamped to [0, 1], [-1, 0.1] entry by entry",
        "x stacked from 1, age, region",
    )
    assert Preparation(Clamp(0, 1)).describe() == ("each record clamped to [0, 1]",)


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (math.log(5000), "≈8.51719"),
        (-1 / 3, "≈-0.333333"),
        (1e15 + 0.5, "≈1e+15"),
        (12345678901234567, "≈1.23457e+16"),
        (0.1 + 0.2, "≈0.3"),
        (99_999.99, "99999.99"),
        (123_456.789, "123456.789"),
        (1_234_567_891.0, "1234567891"),
        (2.5e-7, "2.5e-07"),
        (1e300, "1e+300"),
    ],
)
def test_a_number_with_many_decimals_is_rounded_and_says_so(
    number: float, shown: str
) -> None:
    assert Clamp(number, 1e301).describe() == f"clamped to [{shown}, 1e+301]"


def test_the_example_of_the_docstring() -> None:
    assert doctest.testmod(dpmcmc.preparation.declaration).failed == 0


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (lambda: Clamp(0, INF), ["high is inf", "finite number"]),
        (lambda: Clamp(NAN, 1), ["low is nan"]),
        (lambda: Clamp(True, 2), ["low is True"]),
        (lambda: Clamp("0", 1), ["low is '0'"]),
        (lambda: Clamp([0, [1]], 1), ["low is [0, [1]]"]),
        (lambda: Clamp([], 1), ["low is []"]),
        (lambda: Clamp(1, 1), ["low is 1.0 and high is 1.0", "below high"]),
        (lambda: Clamp([0, 2], 1), ["low must be below high"]),
        (lambda: Clamp([0, 1], [2, 3, 4]), ["low has 2 entries and high 3"]),
        (lambda: ClampNorm(0), ["bound is 0", "above 0"]),
        (lambda: ClampNorm([1, 2]), ["bound is [1, 2]"]),
        (lambda: Scale(2, 1), ["below high"]),
        (lambda: Scale(0, 1, to=(1, 0)), ["to[0] is 1.0 and to[1] is 0.0"]),
        (lambda: Scale(0, 1, to=3), ["to is 3", "pair"]),
        (lambda: Standardise(0, 0), ["scale is 0.0", "above 0"]),
        (lambda: Standardise(0, [1, -1]), ["above 0"]),
        (lambda: OneHot(1), ["levels is 1", "at least 2"]),
        (lambda: OneHot(-3), ["levels is -3"]),
        (lambda: OneHot([1, 1]), ["levels is [1, 1]", "different"]),
        (lambda: OneHot([0.5, 1]), ["whole numbers"]),
        (lambda: OneHot("ab"), ["levels is 'ab'"]),
        (lambda: Stack("age"), ["columns is 'age'", "list of column names"]),
        (lambda: Stack([]), ["columns is []"]),
        (lambda: Copy(3), ["column is 3", "name"]),
        (lambda: Preparation({"x": jnp.log}), ["column 'x'", "Clamp, ClampNorm"]),
        (lambda: Preparation({"x": Sly(0, 1)}), ["Sly(low=", "must be one of"]),
        (lambda: Preparation({"x": []}), ["no step for column 'x'"]),
        (lambda: Preparation({3: Clamp(0, 1)}), ["3 is not the name"]),
        (lambda: Preparation(Stack(["a"])), ["Stack", "named column"]),
        (lambda: Preparation({"x": [Log(), Copy("a")]}), ["Copy", "first step"]),
        (lambda: Preparation(lambda record: record), ["the record", "must be one of"]),
    ],
)
def test_what_cannot_be_declared_is_refused(make: Any, parts: list[str]) -> None:
    assert_refused(make, *parts)


@pytest.mark.parametrize(
    ("columns", "parts"),
    [
        ({"agee": Clamp(0, 1)}, ["no column 'agee'", "'age', 'pair'"]),
        ({"x": Stack(["age", "sex"])}, ["no column 'sex'", "'age', 'pair'"]),
        ({"x": Copy("sex")}, ["no column 'sex'"]),
        (
            {"pair": Clamp([0, 0, 0], 1)},
            ["column 'pair'", "3 public numbers", "shape (2,)"],
        ),
        ({"age": Standardise([1, 2], 1)}, ["column 'age'", "shape ()"]),
        ({"pair": OneHot(3)}, ["column 'pair'", "shape (2,)", "one code"]),
        (Clamp(0, 1), ["each record is a dict", "Preparation({'name': step})"]),
    ],
)
def test_what_does_not_fit_the_records_is_refused(
    columns: Any, parts: list[str]
) -> None:
    """By name and shape, from shapes alone; in a run, before a record is read."""
    shapes = {"age": AGE, "pair": jax.ShapeDtypeStruct((2,), np.float32)}
    preparation = Preparation(columns)
    assert_refused(lambda: preparation.check(shapes), *parts)
    model = Model(
        lambda theta, record: theta["mean"],
        lambda theta: 0.0,
        {"mean": 0.0},
        preparation=preparation,
    )
    sealed = {"age": Sealed(), "pair": Sealed((1000, 2))}
    for run in (run_openly, run_privately):
        assert_refused(lambda run=run: run(model=model, records=sealed), *parts)


def test_a_bare_record_has_no_columns() -> None:
    preparation = Preparation({"x": Clamp(0, 1)})
    assert_refused(lambda: preparation.check(AGE), "one number", "by name")
    model = Model(
        lambda theta, record: theta["mean"],
        lambda theta: 0.0,
        {"mean": 0.0},
        preparation=preparation,
    )
    for shape, words in (((1000,), "one number"), ((1000, 3), "shape (3,)")):
        message = assert_refused(
            lambda shape=shape: run_openly(model=model, records=Sealed(shape)),
            words,
            "{'x': array}",
        )
        assert "Tracer" not in message


def test_check_returns_the_shape_of_a_prepared_record() -> None:
    preparation = Preparation({"region": OneHot(3), "x": Stack(["region", "age"])})
    shapes = preparation.check({"age": AGE, "region": jax.ShapeDtypeStruct((), int)})
    assert shapes["x"].shape == (4,)
    assert shapes["age"].shape == ()


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_a_run_reads_records_as_prepared(precision: str) -> None:
    """The same draws as from records that were prepared beforehand."""
    ages = np.random.default_rng(1).normal(60, 60, size=50)
    codes = np.random.default_rng(2).integers(-1, 4, size=50)

    def log_likelihood(theta: dict, record: dict) -> jax.Array:
        return -0.5 * jnp.sum((record["x"] - theta["mean"]) ** 2)

    def log_prior(theta: dict) -> jax.Array:
        return -0.5 * theta["mean"] ** 2

    preparation = Preparation(
        {
            "age": [Clamp(0, 120), Scale(0, 120)],
            "code": OneHot(3),
            "x": Stack(["age", "code"]),
        }
    )
    model = Model(log_likelihood, log_prior, {"mean": 0.0}, preparation=preparation)
    bare = Model(log_likelihood, log_prior, {"mean": 0.0})
    scaled = np.clip(ages.astype(precision), 0, 120) * np.asarray(1 / 120, precision)
    hot = np.where((codes >= 0) & (codes < 3), np.eye(3)[codes % 3].T, np.nan).T
    by_hand = {"x": np.concatenate([scaled[:, None], hot], axis=1).astype(precision)}
    one = seeded(model, {"age": ages, "code": codes}, precision=precision)
    other = seeded(bare, by_hand, precision=precision)
    np.testing.assert_array_equal(one.draws["mean"], other.draws["mean"])
    np.testing.assert_array_equal(one.accepted, other.accepted)


def test_only_a_preparation_itself_is_taken() -> None:
    """A class made from it could show records, or take them together."""

    class Shows(Preparation):
        def __call__(self, record):
            return super().__call__(record)

    for one in (Shows({"x": Clamp(0.0, 1.0)}), lambda record: record):
        with pytest.raises(InputError, match=r"must be a dpmcmc\.Preparation"):
            Model(lambda theta, r: 0.0, lambda theta: 0.0, 0.0, preparation=one)


@pytest.mark.parametrize(
    ("given", "kept"), [(-3, 1), (0, 1), (1, 1), (2, 2), (3, 2), (9, 2)]
)
def test_codes_that_are_only_clamped_stay_integers(given, kept):
    prepare = Preparation({"group": Clamp(0.5, 2.9)})
    found = prepare({"group": jnp.asarray(given)})["group"]
    assert jnp.issubdtype(found.dtype, jnp.integer)
    assert found == kept


def test_bounds_beyond_a_type_clamp_nothing():
    code = jnp.asarray(200, jnp.uint8)
    found = Preparation(Clamp(-5, 1e6))(code)
    assert (found, found.dtype) == (200, jnp.uint8)
