# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Coords and dims: what they may be, what they must fit, and where they are shown."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import arviz as az
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from posteriors import posterior_of
from refusals import Sealed, assert_refused, run_openly
from runs import seeded

from dpmcmc import InputError, Posterior
from dpmcmc.model.coords import titles_of
from dpmcmc.model.model import Model, check_model

SHAPES: dict[str, tuple[int, ...]] = {"w": (3,), "mean": (), "group.scale": (2, 3)}
START = {
    "w": np.zeros(3, np.float32),
    "mean": np.float32(0),
    "group": {"scale": np.zeros((2, 3), np.float32)},
}
COORDS = {"column": ("age", "income", "smoker"), "letter": ("a", "b", "c")}
DIMS: dict[str, Any] = {"w": ("column",), "group.scale": (None, "letter")}
RECORD = jax.ShapeDtypeStruct((), np.float32)


def model(coords: Any = COORDS, dims: Any = DIMS, **changes: Any) -> Model:
    given = {
        "log_likelihood": lambda theta, x: -((x - theta["w"][0]) ** 2) / 2,
        "log_prior": lambda theta: -jnp.sum(theta["w"] ** 2) / 2,
        "initial": START,
        **changes,
    }
    return Model(**given, coords=coords, dims=dims)


def posterior(coords: Any = COORDS, dims: Any = DIMS) -> Posterior:
    generator = np.random.default_rng(2)
    draws = {name: generator.normal(size=(2, 40, *s)) for name, s in SHAPES.items()}
    return posterior_of(draws, coords=coords, dims=dims)


@pytest.mark.parametrize(
    "given",
    [
        ["age", "income", "smoker"],
        np.array(["age", "income", "smoker"]),
        pd.DataFrame(columns=["age", "income", "smoker"]).columns,
    ],
    ids=["list", "array", "columns of a table"],
)
def test_names_along_a_dimension_may_be_any_list(given: Any) -> None:
    found = model({"column": given}, {"w": ["column"]})
    assert found.coords == {"column": ("age", "income", "smoker")}
    assert all(type(one) is str for one in found.coords["column"])
    check_model(found, START, RECORD)


@pytest.mark.parametrize(
    ("coords", "dims"),
    [
        ({"column": ("a", "b", "a")}, {}),
        ({"chain": ("a", "b")}, {}),
        ({"draw": ("a", "b")}, {}),
        ({}, {"w": ("column",)}),
        ({"column": ("a", "b", "c")}, {"w": ("row",)}),
    ],
)
def test_names_that_repeat_and_dims_without_names_are_refused(
    coords: Any, dims: Any
) -> None:
    assert_refused(lambda: model(coords, dims))
    assert_refused(lambda: posterior(coords, dims))


@pytest.mark.parametrize(
    "dims",
    [
        {"W": ("column",)},
        {"mean": ("column",)},
        {"w": ()},
        {"group.scale": ("column",)},
        {"group.scale": ("letter", None)},
    ],
)
def test_dims_must_fit_what_is_shown(dims: Any) -> None:
    (name,) = dims
    assert_refused(lambda: check_model(model(COORDS, dims), START, RECORD), repr(name))
    assert_refused(lambda: posterior(COORDS, dims), repr(name))


def test_a_table_that_is_given_by_mistake_is_not_shown() -> None:
    table = pd.DataFrame({"w": [0.123, 0.456, 0.123]})
    with pytest.raises(InputError) as refused:
        model(table, {"w": ("w",)})
    assert not re.search(r"0\.\d", str(refused.value))


def test_no_record_is_read_before_dims_are_refused() -> None:
    wrong = model(COORDS, {"mean": ("column",)})
    assert_refused(lambda: run_openly(model=wrong, records=Sealed()), "'mean'")


def test_dims_name_what_the_transform_shows() -> None:
    def twice(theta: Any) -> Any:
        return {"twice": 2 * theta["w"]}

    check_model(model(COORDS, {"twice": ("column",)}, transform=twice), START, RECORD)
    hidden = model(COORDS, {"w": ("column",)}, transform=twice)
    assert_refused(lambda: check_model(hidden, START, RECORD), "'w'", "'twice'")


def test_a_copy_keeps_names_unless_it_is_given_others() -> None:
    named = model()
    assert replace(named, initial=START).coords == named.coords == COORDS
    assert replace(named, coords={}, dims={}).dims == {}


def test_names_change_no_draw() -> None:
    """A seed gives the same chain, whatever its places are called."""
    records = np.random.default_rng(3).normal(size=(50, 2)).astype(np.float32)
    plain = Model(
        lambda theta, x: -jnp.sum((x - theta) ** 2) / 2,
        lambda theta: -jnp.sum(theta**2) / 2,
        np.zeros(2),
    )
    named = replace(plain, coords={"c": ("a", "b")}, dims={"theta": ("c",)})
    found, other = (seeded(one, records, steps=20) for one in (named, plain))
    assert found.coords == {"c": ("a", "b")}
    assert found.titles == ["theta[a]", "theta[b]"]
    np.testing.assert_array_equal(found.draws["theta"], other.draws["theta"])


def test_titles_name_every_place_in_order() -> None:
    assert titles_of(SHAPES, COORDS, DIMS) == [
        "w[age]",
        "w[income]",
        "w[smoker]",
        "mean",
        *(f"group.scale[{i}, {name}]" for i in range(2) for name in "abc"),
    ]
    assert titles_of(SHAPES, {}, {})[:4] == ["w[0]", "w[1]", "w[2]", "mean"]


def test_summaries_are_those_of_the_places_they_name() -> None:
    named, plain = posterior(), posterior({}, {})
    assert list(named.summary().index) == titles_of(SHAPES, COORDS, DIMS)
    np.testing.assert_array_equal(named.summary(), plain.summary())
    assert named.summary().loc["w[smoker]", "mean"] == pytest.approx(
        named.draws["w"][..., 2].mean()
    )
    assert "w[2]" not in str(named)


def test_arviz_and_a_file_have_the_names(tmp_path: Path) -> None:
    data = posterior().to_arviz()
    assert sorted(az.summary(data, kind="stats").index) == sorted(posterior().titles)
    assert list(data.posterior["column"].values) == list(COORDS["column"])
    chosen = data.posterior["w"].sel(column="smoker")
    np.testing.assert_array_equal(chosen, posterior().draws["w"][..., 2])
    posterior().save(tmp_path / "run.nc")
    again = Posterior.load(tmp_path / "run.nc")
    assert (again.coords, again.dims) == (COORDS, DIMS)


def test_names_of_axes_never_meet_those_of_parameters() -> None:
    bad = Model(
        lambda theta, x: -((x - theta["w"][0]) ** 2),
        lambda theta: 0.0,
        {"w": np.zeros(2), "w_dim_0": 0.0},
    )
    assert_refused(lambda: run_openly(model=bad, records=np.zeros(9)), "'w_dim_0'")
