# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Formulas by a schema: what it says of columns, and what is said beside it."""

import numpy as np
import pandas as pd

import dpmcmc
from dpmcmc import Schema
from dpmcmc.sampling.problem import make_problem

SCHEMA = Schema(
    {
        "ill": {"type": "boolean"},
        "age": {"type": "number", "bounds": [0, 110], "measured_in": "years"},
        "region": {"levels": ["north", "south"]},
        "clinic": {"type": "integer", "bounds": [3, 5]},
        "height": {"type": "number", "measured_in": "cm"},  # which is not read
        "person": {"type": "text"},
    },
    unit="person",
    most=2,
)
TEXT = "ill ~ age + C(region) + (1 | clinic)"


def test_a_schema_says_what_arguments_would() -> None:
    by_schema = dpmcmc.formula(TEXT, family="bernoulli", schema=SCHEMA)
    by_hand = dpmcmc.formula(
        TEXT,
        family="bernoulli",
        bounds={"ill": (0.0, 1.0), "age": (0.0, 110.0)},
        levels={"region": ["north", "south"], "clinic": [3, 4, 5]},
        units={"age": "years"},
    )
    assert by_schema.declared == by_hand.declared


def test_what_is_said_beside_a_schema_holds() -> None:
    model = dpmcmc.formula(
        TEXT, family="bernoulli", schema=SCHEMA, bounds={"age": (18, 65)}
    )
    assert model.declared is not None
    assert model.declared["bounds"]["age"] == [18, 65]
    assert model.declared["levels"]["clinic"] == [3, 4, 5]


def test_a_column_is_clamped_once() -> None:
    model = dpmcmc.formula(TEXT, family="bernoulli", schema=SCHEMA)
    prepared = SCHEMA.applied_to(model).preparation.describe()
    assert sorted(prepared) == sorted(
        ["clinic clamped to [3, 5]", *model.preparation.describe()]
    )
    wider = Schema({"age": {"type": "number", "bounds": [-5, 200]}})
    both = wider.applied_to(model).preparation.describe()
    assert [line for line in both if line.startswith("age")] == [
        "age clamped to [-5, 200]",
        next(line for line in prepared if line.startswith("age")),
    ]


def test_a_statement_says_once_what_is_done_to_a_column() -> None:
    model = dpmcmc.formula(TEXT, family="bernoulli", schema=SCHEMA)
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "ill": rng.integers(0, 2, 50).astype(bool),
            "age": rng.uniform(0, 110, 50),
            "region": rng.choice(["north", "south"], 50),
            "clinic": rng.integers(3, 6, 50),
        }
    )
    by_record = Schema(SCHEMA.of(table.columns).columns)
    problem = make_problem(
        model,
        dpmcmc.Records(table, schema=by_record),
        start=None,
        precision=None,
        devices=None,
    )
    assert problem.prepared == (
        "ill: boolean",
        "age: number in years, clamped to [0, 110]",
        "region: one of north, south, then coded as one of the levels 0 to 1",
        "clinic: integer, clamped to [3, 5], then coded as one of the levels 3, 4, 5",
    )
