# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Every kind of number in every kind of table is read alike, with or without holes."""

import warnings

import jax
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dpmcmc.private import Records
from dpmcmc.private.context import boundary_arithmetic
from dpmcmc.private.opening import open_records

KINDS = {
    "bool": pa.bool_(),
    **{f"int{bits}": getattr(pa, f"int{bits}")() for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": getattr(pa, f"uint{bits}")() for bits in (8, 16, 32, 64)},
    **{f"float{bits}": getattr(pa, f"float{bits}")() for bits in (16, 32, 64)},
}
TABLES = {
    "Arrow": lambda column: pa.table({"x": column}),
    "polars": lambda column: pl.DataFrame({"x": pl.from_arrow(column)}),
    "pandas on Arrow": lambda column: pd.DataFrame(
        {"x": pd.array(column, dtype=pd.ArrowDtype(column.type))}
    ),
    "pandas": lambda column: pd.DataFrame(
        {"x": pd.array(column.to_pylist(), dtype=_pandas_kind(column.type))}
    ),
}


def _pandas_kind(kind):
    """The dtype of pandas that may have holes: boolean, Int8, UInt64, Float32."""
    name = "boolean" if str(kind) == "bool" else str(kind)
    names = {"u": "UI" + name[2:], "i": name.title(), "d": "Float64", "f": "Float32"}
    return name if name == "boolean" else names[name[0]]


def opened(table, dtype):
    with boundary_arithmetic():
        inside, _ = open_records(Records(table), dtype, jax.devices()[:1])
    return np.asarray(inside.arrays["x"]), np.asarray(inside.present)


# pandas itself has no float16 with holes
PAIRS = [(k, t) for k in KINDS for t in TABLES if (k, t) != ("float16", "pandas")]


@pytest.mark.parametrize(("kind", "table"), PAIRS)
def test_a_hole_changes_no_dtype_and_no_other_record(kind, table):
    make = TABLES[table]
    one, zero = (np.float16(1), np.float16(0)) if kind == "float16" else (1, 0)
    if kind == "bool":
        one, zero = True, False
    whole = make(pa.array([one, zero, one, zero], KINDS[kind]))
    holed = make(pa.array([one, None, one, None], KINDS[kind]))
    for dtype in (np.float32, np.float64):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            values, present = opened(whole, dtype)
            other_values, other_present = opened(holed, dtype)
        assert values.tolist() == other_values.tolist() == [1, 0, 1, 0]
        assert values.dtype == other_values.dtype
        assert values.dtype == Records(whole).shape_of_one(dtype)["x"].dtype
        assert present.tolist() == [True] * 4
        assert other_present.tolist() == [True, False, True, False]


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
def test_a_column_of_holes_alone_is_read(make):
    values, present = opened(make(pa.array([None, None], pa.int64())), np.float32)
    assert values.dtype == np.int32
    assert not np.any(present)
