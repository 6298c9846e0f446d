# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Tables in memory, read as a schema declares them; types decide, values never do."""

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmcmc import InputError, Records, Schema, models, sample_not_private
from dpmcmc.private.opening import open_on_host

SCHEMA = Schema(
    {
        "region": {"levels": ["south", "north"]},
        "since": {"origin": "2000-01-01"},
        "ward": {"type": "integer"},
        "ill": {"type": "boolean"},
        "dose": {"type": "number"},
    }
)
REGION = ["north", "south", None, "west"]
SINCE = [dt.datetime(2000, 1, 2, 6), None, dt.datetime(2001, 1, 1), dt.datetime.max]
WARD, ILL, DOSE = [3, 1, None, 2], [True, False, None, True], [0.5, 1.5, 2.0, 2.5]

PANDAS = pd.DataFrame(
    {
        "region": pd.Categorical(REGION),
        "since": pd.to_datetime([*SINCE[:3], None]),
        "ward": WARD,
        "ill": pd.Series(ILL, dtype="boolean"),
        "dose": np.array(DOSE, np.float32),
        "name": ["Ann", "Bo", "C", "D"],
    }
)
POLARS = pl.DataFrame(
    {
        "region": pl.Series(REGION, dtype=pl.Categorical),
        "since": pl.Series([*SINCE[:3], None]),
        "ward": WARD,
        "ill": ILL,
        "dose": DOSE,
        "name": ["Ann", "Bo", "C", "D"],
    }
)
TABLES: dict[str, Any] = {
    "pandas": PANDAS,
    "objects": PANDAS.astype({"region": object, "since": object, "ill": object}),
    "polars": POLARS,
    "texts": POLARS.with_columns(pl.col("region").cast(pl.String)),
    "arrow": POLARS.to_arrow(),
    "arrays": {
        "region": np.array(["north", "south", "", "west"]),
        "since": np.array([*SINCE[:3], None], "datetime64[ns]"),
        "ward": np.array([3, 1, np.nan, 2]),
        "ill": np.array(ILL, object),
        "dose": np.array(DOSE),
        "name": np.array(["Ann", "Bo", "C", "D"]),
    },
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_of_any_library_are_read_alike(name: str) -> None:
    arrays, present = open_on_host(Records(TABLES[name], schema=SCHEMA), "float64")
    assert arrays["region"].tolist() == [1, 0, 0, 0]
    assert arrays["since"].tolist() == [1.25, 0.0, 366.0, 0.0]
    assert arrays["ward"].tolist() == [3, 1, 0, 2]
    assert arrays["ill"].tolist() == [True, False, False, True]
    assert arrays["dose"].tolist() == DOSE
    assert present.tolist() == [True, False, False, False]
    kinds = {key: array.dtype.kind for key, array in arrays.items()}
    assert kinds == {"region": "i", "since": "f", "ward": "i", "ill": "b", "dose": "f"}


def test_units_stand_in_the_schema_too() -> None:
    schema = Schema(SCHEMA.columns, unit="name", most=2)
    records = Records(PANDAS, schema=schema)
    assert (len(records), records.unit, records.most) == (4, "name", 2)
    assert set(records.shape_of_one(np.float32).rows) == set(SCHEMA.columns)
    again = Records(PANDAS, schema=SCHEMA, unit="name", most=1)
    assert (again.unit, again.most) == ("name", 1)


@given(
    region=st.none() | st.text(max_size=5) | st.sampled_from(["north", "south"]),
    ward=st.none() | st.floats(),
    ill=st.none() | st.booleans() | st.text(max_size=3),
)
def test_a_value_decides_over_itself_alone(region: Any, ward: Any, ill: Any) -> None:
    """Whatever it is, the others are the same, and nothing is said."""
    usual = {"region": ["north", "south"], "ward": [3.0, 1.0], "ill": [True, False]}
    odd = {"region": region, "ward": np.nan if ward is None else ward, "ill": ill}
    schema = SCHEMA.of(usual)

    def opened(last: dict[str, Any]) -> Any:
        frame = {name: [*values, last[name]] for name, values in usual.items()}
        table = pd.DataFrame(frame).astype({"region": object, "ill": object})
        return open_on_host(Records(table, schema=schema), "float32")

    plain = opened({name: values[0] for name, values in usual.items()})
    other = opened(odd)
    for name in usual:
        assert other.arrays[name].dtype == plain.arrays[name].dtype
        assert np.array_equal(other.arrays[name][:2], plain.arrays[name][:2])
    assert np.array_equal(other.present[:2], plain.present[:2])


@pytest.mark.parametrize("kind", ["number", "integer", "boolean", "text", "date"])
def test_one_missing_value_changes_no_refusal(kind: str) -> None:
    """It makes objects of booleans, and floats of integers, in pandas."""
    more = {"text": {"levels": ["a", "b"]}, "date": {"origin": "2000-01-01"}}
    schema = Schema({"x": {"type": kind, **more.get(kind, {})}})

    def said(values: list[Any]) -> str:
        try:
            Records(pd.DataFrame({"x": values}), schema=schema)
        except InputError as refused:
            return str(refused)
        return ""

    assert said([True, False]) == said([True, None])
    assert said([1, 2]) == said([1, None])


@pytest.mark.parametrize(
    ("column", "declared"),
    [
        (np.array([1.0, 2.0]), {"levels": ["a", "b"]}),
        (np.array([1.0, 2.0]), {"origin": "2000-01-01"}),
        (np.array(["a", "b"]), {"type": "number"}),
        (np.array(["a", "b"]), {"type": "boolean"}),
        (np.array([1, 0]), {"type": "boolean"}),
        (np.ones((2, 3)), {"type": "number"}),
        (np.array([1j, 2]), {"type": "number"}),
        (pl.Series([dt.date.today()] * 2), {"levels": ["a", "b"]}),
        (pl.Series(["a", "b"]), {"type": "integer"}),
    ],
    ids=str,
)
def test_a_declaration_that_cannot_fit_is_refused_by_the_type(
    column: Any, declared: dict[str, Any]
) -> None:
    """Every value would be missing, at full price."""
    with pytest.raises(InputError, match="declared as"):
        Records({"x": column}, schema=Schema({"x": declared}))


def test_a_declared_column_must_be_there() -> None:
    with pytest.raises(InputError, match="'regio'"):
        Records(PANDAS, schema=Schema({"regio": {"levels": ["a", "b"]}}))
    with pytest.raises(InputError, match="no names"):
        Records(np.ones(3), schema=Schema({"x": {"type": "number"}}))


def test_bounds_are_kept_and_said() -> None:
    """All values lie above the bound, to which they are moved."""
    schema = Schema({"x": {"type": "number", "bounds": [0, 1], "measured_in": "m"}})
    records = Records(pd.DataFrame({"x": np.full(2000, 50.0)}), schema=schema)
    posterior = sample_not_private(
        models.normal(bounds=(0, 100), sd=1.0), records, seed=1, progress=False
    )
    said = "x: number in m, clamped to [0, 1], then clamped to [0, 100]"
    assert posterior.statement.prepared == (said,)
    assert abs(posterior.draws["mean"].mean() - 1.0) < 0.2
