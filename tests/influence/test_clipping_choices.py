# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Choosing a way of clipping: what each needs of a model, and what it says."""

from dataclasses import replace

import jax
import numpy as np
import pytest

from dpmcmc.errors import InputError
from dpmcmc.influence import Centred, Listed, Restored, Shifted, Shrunk
from dpmcmc.influence.choices import (
    ConditionalCentring,
    ModelCorrection,
    PlainClipping,
    Shrinking,
)
from dpmcmc.model.model import Model
from dpmcmc.models import (
    bernoulli,
    linear_regression,
    logistic_regression,
    normal,
    two_component_mixture,
)
from dpmcmc.private import PLAIN, Grid

GRID = Grid(0.01, scale=0.5)
MIXTURE = two_component_mixture((-9.0, 9.0))
LOGISTIC = logistic_regression(3, norm=5.0)
LINEAR = linear_regression(3, norm=5.0, bounds=(-5.0, 5.0))


def shapes(*, x=(), **columns):
    return {
        name: jax.ShapeDtypeStruct(shape, "float32")
        for name, shape in {"x": x, **columns}.items()
    }


REGRESSION = shapes(x=(3,), y=())


def chosen(clipping, model, one=REGRESSION):
    return clipping.influence(model, one, GRID, 1000)


def test_each_way_makes_its_influence():
    assert chosen(PlainClipping(), LOGISTIC) is PLAIN
    assert chosen(Shrinking(), LOGISTIC) == Shrunk(Listed(("y",), ((0, 1),)), 0.02)
    assert chosen(ConditionalCentring(), LOGISTIC) == Centred(
        Listed(("y",), ((0, 1),)), 0.02
    )
    assert isinstance(chosen(ConditionalCentring(), LINEAR), Restored)
    assert isinstance(chosen(ModelCorrection(), MIXTURE, shapes()), Shifted)
    assert isinstance(chosen(Shrinking(), bernoulli(), shapes()), Shrunk)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_whole_records_are_seen_as_such_in_any_precision(dtype):
    one = {"x": jax.ShapeDtypeStruct((), dtype), "id": jax.ShapeDtypeStruct((), "int8")}
    influence = chosen(ModelCorrection(simulated=5), MIXTURE, one)
    again = chosen(ModelCorrection(simulated=5), MIXTURE, one)
    jax.tree.map(np.testing.assert_array_equal, influence, again)
    assert influence.part.simulated == 5


@pytest.mark.parametrize(
    ("records", "simulated"), [(10, 4096), (10**6, 62_500), (10**9, 2**18)]
)
def test_a_sixteenth_of_the_records_are_simulated(monkeypatch, records, simulated):
    monkeypatch.setattr("dpmcmc.influence.expected_loss._CANDIDATES", 1)
    influence = ModelCorrection().influence(MIXTURE, shapes(), GRID, records)
    assert influence.part.simulated == simulated


@pytest.mark.parametrize(
    "clipping", [PlainClipping(), ModelCorrection(), ConditionalCentring(), Shrinking()]
)
def test_each_way_says_what_it_does(clipping):
    assert clipping.describe().startswith("each record's ratio is ")


BARE = Model(lambda theta, record: theta * record["x"], lambda theta: 0.0, 0.0)


@pytest.mark.parametrize(
    ("clipping", "model", "one", "message"),
    [
        (ModelCorrection(), BARE, shapes(), "needs a simulator, but the model has"),
        (ModelCorrection(), LINEAR, REGRESSION, "simulator of whole records, but what"),
        (
            ModelCorrection(),
            LOGISTIC,
            REGRESSION,
            "simulator of whole records, but what",
        ),
        (
            ModelCorrection(),
            replace(MIXTURE, initial={"mean": 0.0, "gap": 1}),
            shapes(),
            "the discrete parameter 1; all must be continuous",
        ),
        (
            ModelCorrection(simulated=0),
            MIXTURE,
            shapes(),
            "simulated is 0; it must be a whole number of at least 1",
        ),
        (ModelCorrection(seed=-1), MIXTURE, shapes(), "seed is -1; it must be a whole"),
        (ConditionalCentring(), BARE, shapes(), "but Model.responses is None. Give it"),
        (Shrinking(), BARE, shapes(), "Shrinking needs to know which columns are"),
        (Shrinking(), LINEAR, REGRESSION, "needs all values of every response, at"),
        (
            Shrinking(),
            replace(LOGISTIC, responses={"y": tuple(range(65))}),
            REGRESSION,
            "at most 64 together",
        ),
        (
            Shrinking(),
            replace(BARE, responses={"z": (0.0, 1.0)}),
            shapes(),
            "responses names 'z', which a record does not have",
        ),
        (
            ConditionalCentring(),
            replace(BARE, responses={"x": (0.0, 1.0)}),
            jax.ShapeDtypeStruct((), "float32"),
            "Records must be dicts of columns",
        ),
        (
            ConditionalCentring(),
            replace(BARE, responses={"x": None}),
            shapes(y=()),
            "ConditionalCentring needs a simulator, but the model has none",
        ),
        (
            ConditionalCentring(),
            replace(normal((-5.0, 5.0)), responses={"x": None}),
            shapes(),
            "explains every column of a record, so that there is nothing to condition",
        ),
        (
            ConditionalCentring(simulated=65),
            LINEAR,
            REGRESSION,
            "simulated is 65; it must be at most 64",
        ),
        (
            ConditionalCentring(simulated=True),
            LINEAR,
            REGRESSION,
            "simulated is True; it must be a whole number",
        ),
    ],
)
def test_what_does_not_fit_is_refused(clipping, model, one, message):
    with pytest.raises(InputError, match=message):
        chosen(clipping, model, one)


@pytest.mark.parametrize(
    "responses",
    [{}, "y", {"y": ()}, {"y": 1.0}, {"y": (0, np.inf)}, {"y": ["a"]}, {1: None}],
)
def test_responses_are_columns_with_values(responses):
    with pytest.raises(InputError, match="name the columns that the model explains"):
        replace(BARE, responses=responses)
