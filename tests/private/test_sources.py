# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Sources of records: read once, after the charge, and as they were sealed."""

import jax
import numpy as np
import pandas as pd
import pytest

from dpmcmc import Schema
from dpmcmc.errors import InputError
from dpmcmc.private import Records
from dpmcmc.private.opening import open_on_host, open_records


class Table:
    """A source that counts how often it is read."""

    def __init__(self, columns, error=None):
        self.columns, self.error, self.reads = columns, error, 0
        self.dtypes = {name: array.dtype for name, array in columns.items()}
        self.schema = Schema()
        self.length = len(next(iter(columns.values())))

    def __len__(self):
        return self.length

    def read_values(self):
        self.reads += 1
        if self.error is not None:
            raise self.error
        return self.columns, np.arange(self.length) != 1


def test_a_source_is_read_once_when_it_is_first_opened():
    source = Table({"x": np.arange(3.0), "n": np.arange(3)})
    sealed = Records(source)
    assert len(sealed) == 3
    assert sealed.shape_of_one(np.float32) == {
        "x": jax.ShapeDtypeStruct((), np.float32),
        "n": jax.ShapeDtypeStruct((), np.int32),
    }
    assert source.reads == 0
    for dtype in (np.float32, np.float64):
        inside = open_on_host(sealed, dtype)
        assert inside.arrays["x"].dtype == dtype
        assert inside.arrays["n"].tolist() == [0, 1, 2]
        assert inside.present.tolist() == [True, False, True]
    assert source.reads == 1


def test_a_source_that_fails_tells_no_value():
    sealed = Records(Table({"x": np.zeros(3)}, ValueError("secret 4711")))
    with pytest.raises(InputError, match="have changed") as caught:
        open_on_host(sealed, np.float32)
    assert "4711" not in str(caught.value)
    assert caught.value.__cause__ is None
    told = InputError("the file is gone.")
    with pytest.raises(InputError, match="the file is gone"):
        open_on_host(Records(Table({"x": np.zeros(3)}, told)), np.float32)


def test_a_source_of_text_is_refused_unread():
    source = Table({"x": np.array(["a", "b"])})
    with pytest.raises(InputError, match=r"records\['x'\] has dtype str_"):
        Records(source)
    assert source.reads == 0


@pytest.mark.parametrize(
    "columns", [{"x": np.zeros(4)}, {"x": np.zeros(3, int)}, {"y": np.zeros(3)}]
)
def test_a_source_must_keep_what_it_said(columns):
    source = Table({"x": np.zeros(3)})
    sealed = Records(source)
    source.columns = columns
    for _ in range(2):  # and it is not kept
        with pytest.raises(InputError, match="have changed"):
            open_on_host(sealed, np.float32)


# What was sealed is what is opened


def test_a_container_that_changes_after_sealing_changes_nothing():
    data = {"x": np.zeros(1000), "y": np.ones(1000)}
    sealed = Records(data)
    data["x"] = data["x"][:10]
    del data["y"]
    opened, _ = open_records(sealed, np.float32, jax.devices()[:1])
    assert int(opened.present.sum()) == 1000
    assert set(opened.arrays) == {"x", "y"}


def test_an_array_that_changes_its_shape_after_sealing_is_refused():
    values = np.zeros((100, 2))
    sealed = Records(values)
    values.shape = (200,)
    with pytest.raises(InputError, match="have changed since they were sealed"):
        open_records(sealed, np.float32, jax.devices()[:1])


def test_a_table_that_changes_after_sealing_changes_nothing():
    frame = pd.DataFrame({"x": np.arange(100.0), "y": np.arange(100)})
    sealed = Records(frame)
    frame["y"] = "secret 4711"
    del frame["x"]
    opened, _ = open_records(sealed, np.float32, jax.devices()[:1])
    assert np.array_equal(np.asarray(opened.arrays["x"])[:100], np.arange(100.0))
    assert np.array_equal(np.asarray(opened.arrays["y"])[:100], np.arange(100))


def test_an_error_while_reading_tells_no_value():
    class Shifty:
        shape, dtype = (3,), np.dtype(np.float64)

        def __array__(self, *arguments, **names):
            raise ValueError("could not convert 'secret 4711'")

    with pytest.raises(InputError) as caught:
        open_records(Records(Shifty()), np.float32, jax.devices()[:1])
    assert "4711" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
