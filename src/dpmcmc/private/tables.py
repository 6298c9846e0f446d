# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays and columns of tables: their dtype by their type, and who has a missing value.

The dtype that a column enters with never depends on its values. In pandas one missing
value turns integers into floats and booleans into objects, so all NumPy number dtypes
of pandas enter as float64, and booleans and objects are refused alike.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import narwhals as nw
import numpy as np

from dpmcmc.errors import InputError

__all__ = [
    "Column",
    "Kind",
    "columns_of",
    "is_float",
    "kind_of",
    "narrow",
    "read_leaf",
    "saturate",
]

_NUMBERS = frozenset(
    {
        *(nw.Int8, nw.Int16, nw.Int32, nw.Int64),
        *(nw.UInt8, nw.UInt16, nw.UInt32, nw.UInt64),
        *(nw.Float16, nw.Float32, nw.Float64, nw.Boolean),
    }
)


@dataclass(frozen=True)
class Kind:
    """Shape and dtype of a part of the records, both public."""

    shape: tuple[int, ...]
    dtype: np.dtype


class Column(NamedTuple):
    """Values, zero where they are missing, and which records have a missing one.

    ``missing`` is None where the type of the part cannot say that a value is missing.
    """

    values: np.ndarray
    missing: np.ndarray | None


def columns_of(data: Any) -> Any:
    """Return a table as a dict of its columns, and any other pytree with its columns.

    Containers are new, so that the caller's may change.
    """
    try:
        frame = nw.from_native(data, eager_only=True, pass_through=True)
    except nw.exceptions.DuplicateError:
        raise InputError(
            "two columns of the table have the same name. Rename one of them."
        ) from None
    if not isinstance(frame, nw.DataFrame):
        return jax.tree.map(_as_column, data)
    for name in frame.columns:
        if not isinstance(name, str):
            raise InputError(
                f"the name of column {name!r} is not text. Give every column a name."
            )
    return {name: frame.get_column(name) for name in frame.columns}


def _as_column(leaf: Any) -> Any:
    """Wrap a column of a table; anything else stays as it is."""
    if nw.dependencies.is_pandas_index(leaf):
        leaf = leaf.to_series()
    return nw.from_native(leaf, series_only=True, pass_through=True)


def kind_of(name: str, leaf: Any) -> Kind:
    """Shape and dtype of a part of the records, from its type alone.

    Anything but an array of numbers is refused; it is named, its values are not.
    """
    if isinstance(leaf, nw.Series):
        return Kind((len(leaf),), _dtype_of_column(name, leaf))
    shape = getattr(leaf, "shape", ())
    if not hasattr(leaf, "dtype") or len(shape) == 0:
        raise InputError(
            f"{name} is a {type(leaf).__name__}, not an array with one entry for each "
            "record. Give a pytree of arrays with a common leading axis; a pandas, "
            "polars or Arrow table; or a dpmcmc.files.DataFile."
        )
    if not _holds_numbers(leaf.dtype):
        # the full dtype is not shown: of text, it tells the length of the longest
        own = leaf.dtype.type if isinstance(leaf.dtype, np.dtype) else type(leaf.dtype)
        raise InputError(
            f"{name} has dtype {own.__name__}; records must be booleans, integers or "
            "floats. Encode it as numbers first."
        )
    return Kind(tuple(shape), np.dtype(leaf.dtype))


def _dtype_of_column(name: str, column: nw.Series[Any]) -> np.dtype:
    """The dtype that a column enters with.

    Guarantee
    ---------
    It is a function of the type of the column alone. Columns of pandas whose dtypes
    differ by one missing value (integers and floats, booleans and objects) get the
    same dtype, or the same error.
    """
    if column.implementation.is_pandas_like():
        own = column.to_native().dtype
        if isinstance(own, np.dtype) and own.kind in "iuf":
            return np.dtype(np.float64)
        # narwhals looks at the values of a column of objects, so it is not asked
        if isinstance(own, np.dtype) or column.dtype not in _NUMBERS:
            raise InputError(
                f"{name} is a column of pandas whose dtype is not one of numbers. "
                "Declare a dtype that holds missing values, as in "
                "frame.astype({'smokes': 'boolean', 'group': 'Int64'}); encode text "
                "and dates as numbers, or leave the column out."
            )
    elif column.dtype not in _NUMBERS:
        # the full dtype is not shown: an Enum lists the values of its column
        raise InputError(
            f"{name} holds {type(column.dtype).__name__}; records must be booleans, "
            "integers or floats. Encode it as numbers, or leave the column out."
        )
    if column.dtype == nw.Boolean:
        return np.dtype(bool)
    own = np.dtype(str(column.dtype).lower())
    # short integers overflow in the arithmetic of a model: 90 · 90 in 8 bits is 164
    return np.promote_types(np.int32, own) if own.kind in "iu" else own


def read_leaf(leaf: Any, kind: Kind) -> Column:
    """Read a part of the records.

    Guarantee
    ---------
    Entry i of ``values`` and of ``missing`` is a function of entry i of the part, and
    of its type. Whether ``missing`` is None depends on the type alone.
    """
    if isinstance(leaf, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(leaf)
        values = np.where(mask, kind.dtype.type(0), np.ma.getdata(leaf))
        missing = np.asarray(mask.any(axis=tuple(range(1, mask.ndim))))
        return Column(values.astype(kind.dtype, copy=False), missing)
    if not isinstance(leaf, nw.Series):
        return Column(np.asarray(leaf), None)
    missing = leaf.is_null().to_numpy().astype(bool)
    zero = kind.dtype.type(0)
    values = leaf.fill_null(zero.item()).to_numpy().astype(kind.dtype)
    if is_float(kind.dtype):  # NaN and null are one thing in pandas, so everywhere
        missing = missing | np.isnan(values)
    return Column(np.where(missing, zero, values), missing)


def saturate(leaf: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Cast, with integers too large for the dtype put at its end."""
    if dtype.kind in "iu" and leaf.dtype.itemsize > dtype.itemsize:
        limits = np.iinfo(dtype)
        leaf = np.clip(leaf, limits.min, limits.max)
    return leaf.astype(dtype)


def narrow(leaf: np.dtype, dtype: Any) -> np.dtype:
    """Return the dtype of a leaf in a chain of float ``dtype``."""
    if is_float(leaf):
        return np.dtype(dtype)
    small = {"i": np.dtype(np.int32), "u": np.dtype(np.uint32)}.get(leaf.kind, leaf)
    wide = np.dtype(dtype).itemsize == 8
    found = leaf if wide or leaf.itemsize <= small.itemsize else small
    return found.newbyteorder("=")


def is_float(dtype: np.dtype) -> bool:
    """Whether it is a float, JAX's own kinds (bfloat16) included."""
    return bool(jnp.issubdtype(dtype, jnp.floating))


def _holds_numbers(dtype: Any) -> bool:
    try:
        return np.dtype(dtype).kind in "biuf" or is_float(np.dtype(dtype))
    except TypeError:
        return False
