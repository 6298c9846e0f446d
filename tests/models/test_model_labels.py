# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Ready models call coefficients by the columns that x is made of."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpmcmc import Model, models
from dpmcmc.model.model import check_model
from dpmcmc.model.preparation import (
    Clamp,
    Copy,
    OneHot,
    Preparation,
    Scale,
    Stack,
    Standardise,
    Whiten,
)

REGRESSIONS: dict[str, Callable[..., Model]] = {
    "linear": lambda d, before: models.linear_regression(
        d, norm=2.0, bounds=(0, 1), before=before
    ),
    "logistic": lambda d, before: models.logistic_regression(d, norm=2, before=before),
    "Poisson": lambda d, before: models.poisson_regression(
        d, norm=2.0, most=9, before=before
    ),
    "negative binomial": lambda d, before: models.negative_binomial_regression(
        d, norm=2.0, most=9, before=before
    ),
}
AGE = {"age": [Clamp(0, 120), Scale(0, 120)]}
REGION = {"region": OneHot((1, 2, 5), drop_first=True)}
WIDE = Whiten((0.0, 0.0), ((1.0, 0.5), (0.5, 1.0)))

CASES: dict[str, tuple[dict[str, Any], int, tuple[str, ...] | None]] = {
    "numbers": ({**AGE, "x": Stack(["age", "pay"])}, 2, ("age", "pay")),
    "levels": (
        {**AGE, **REGION, "x": Stack(["age", "region"])},
        3,
        ("age", "region=2", "region=5"),
    ),
    "all levels": (
        {"sex": OneHot(2), "x": Stack(["sex", "pay"])},
        3,
        ("sex=0", "sex=1", "pay"),
    ),
    "a vector": (
        {"sex": OneHot(2), "x": Stack(["scores", "sex"])},
        4,
        ("scores[0]", "scores[1]", "sex=0", "sex=1"),
    ),
    "a copy": ({"pay": Copy("income"), "x": Stack(["pay", "age"])}, 2, ("pay", "age")),
    "a copy of levels": (
        {**REGION, "place": Copy("region"), "x": Stack(["place"])},
        2,
        ("region=2", "region=5"),
    ),
    "a stack in a stack": (
        {"both": Stack(["age", "pay"]), "x": Stack(["both", "sex"])},
        3,
        ("age", "pay", "sex"),
    ),
    "steps after the stack": (
        {"x": [Stack(["age", "pay"]), Standardise(0.5, 2.0)]},
        2,
        ("age", "pay"),
    ),
    "levels of a changed column": (
        {
            "region": [Standardise(-1.0, 1.0), OneHot((1, 2, 3))],
            "x": Stack(["region", "age"]),
        },
        4,
        ("region[0]", "region[1]", "region[2]", "age"),
    ),
    "levels of a column made before": (
        {"region": Copy("area"), "region=": OneHot(2), "x": Stack(["region="])},
        2,
        ("region==0", "region==1"),
    ),
    "an intercept": (
        {"x": Stack(["age"], intercept=True)},
        2,
        ("intercept", "age"),
    ),
    "a whitened column": (
        {"v": WIDE, "x": Stack(["v", "v2"])},
        2,
        ("v", "v2"),
    ),
    "two vectors": ({"x": Stack(["scores", "marks"])}, 5, None),
    "too many": ({"x": Stack(["age", "pay", "sex"])}, 2, None),
    "twice": ({"x": Stack(["age", "age"])}, 2, None),
    "whitened": ({"x": [Stack(["age", "pay"]), WIDE]}, 2, None),
    "a vector as it comes": ({"x": Clamp(0, 1)}, 2, None),
    "a copied vector": ({"x": Copy("scores")}, 2, None),
}


def names_of(model: Model, parameter: str = "coefficients") -> tuple[str, ...] | None:
    """What the places of a vector are called; None if they are numbered."""
    if parameter not in model.dims:
        assert model.coords == {}
        return None
    (dim,) = model.dims[parameter]
    assert dim is not None
    return tuple(model.coords[dim])


@pytest.mark.parametrize(("columns", "size", "names"), CASES.values(), ids=CASES)
def test_coefficients_are_called_by_their_columns(
    columns: dict[str, Any], size: int, names: tuple[str, ...] | None
) -> None:
    for make in REGRESSIONS.values():
        assert names_of(make(size, Preparation(columns))) == names


@pytest.mark.parametrize("make", REGRESSIONS.values(), ids=REGRESSIONS)
def test_names_fit_what_is_shown(make: Callable[..., Model]) -> None:
    columns = {**AGE, **REGION, "x": Stack(["age", "region"]), "y": Copy("ill")}
    model = make(3, Preparation(columns))
    start = jax.tree.map(np.asarray, model.initial)
    one = jax.ShapeDtypeStruct((), jnp.float32)
    check_model(model, start, {"age": one, "region": one, "ill": one})


@pytest.mark.parametrize("make", REGRESSIONS.values(), ids=REGRESSIONS)
def test_without_a_preparation_there_are_no_names(make: Callable[..., Model]) -> None:
    assert names_of(make(2, None)) is None


def test_levels_of_a_column_that_was_changed_before_are_numbered() -> None:
    first = Preparation({"region": Clamp(1, 5)})
    then = Preparation({**REGION, "x": Stack(["region"])})
    model = models.logistic_regression(2, norm=2.0, before=first.then(then))
    assert names_of(model) == ("region[0]", "region[1]")


def test_preparations_one_after_the_other() -> None:
    first = Preparation(REGION)
    then = Preparation({"x": Stack(["age", "region"])})
    model = models.logistic_regression(3, norm=2.0, before=first.then(then))
    assert names_of(model) == ("age", "region=2", "region=5")


@pytest.mark.parametrize("names", [["age", "region"], ["region", "age"]])
def test_each_name_stands_where_its_column_is(names: list[str]) -> None:
    """Coefficients that pick one entry of x see the column of that name."""
    columns = Preparation({"region": OneHot(3), "x": Stack(names)})
    model = models.linear_regression(4, norm=99.0, bounds=(-50, 50), before=columns)
    prepared = columns({"age": 7.0, "region": 2.0})["x"]
    by_name = dict(zip(names_of(model) or (), prepared.tolist(), strict=True))
    assert by_name == {"age": 7.0, "region=0": 0.0, "region=1": 0.0, "region=2": 1.0}


def test_a_weighted_model_keeps_its_names() -> None:
    columns = Preparation({"x": Stack(["age", "pay"])})
    model = models.logistic_regression(2, norm=2.0, before=columns)
    weighted = models.weighted(model, models.Leverage(scale=1.0))
    assert names_of(weighted) == ("age", "pay")


def test_the_mean_of_a_vector_is_called_by_its_columns() -> None:
    columns = Preparation({"x": Stack(["height", "weight"])})
    model = models.normal_mean(np.eye(2), radius=5.0, before=columns)
    assert names_of(model, "mean") == ("height", "weight")
    assert names_of(models.normal_mean(np.eye(2), radius=5.0), "mean") is None


def test_probabilities_are_called_by_codes_that_are_not_places() -> None:
    assert names_of(models.categorical(3), "probabilities") is None
    model = models.categorical((1, 2, 5))
    assert names_of(model, "probabilities") == ("1", "2", "5")
    start = jax.tree.map(np.asarray, model.initial)
    check_model(model, start, {"x": jax.ShapeDtypeStruct((), jnp.float32)})
