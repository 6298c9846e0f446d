# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Records: sealed where they enter, opened only inside the boundary.

The wrapper shows what is public (how many records there are, the shape and dtype of
one) and nothing else. It guards against accident, in our code and the user's; it
cannot guard against a hostile program in the same Python process.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn
from weakref import WeakKeyDictionary

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from dpmcmc.arithmetic import RECORD_LIMIT
from dpmcmc.errors import InputError
from dpmcmc.private.ratios import BLOCK
from dpmcmc.private.tables import Table, read_column, table_of

__all__ = ["Opened", "Records", "open_on_host", "open_records"]


class Opened(NamedTuple):
    """Records that are open, and which are present; never leaves the boundary.

    ``present`` is None where all are, by the kind of the records alone.
    """

    arrays: Any
    present: Any


@dataclass(frozen=True)
class _Leaf:
    """Shape and dtype of one record's part."""

    shape: tuple[int, ...]
    dtype: np.dtype


class Records:
    """Sensitive records that only the privacy boundary can open.

    Parameters
    ----------
    data
        A pytree of arrays with a common leading axis, one entry a record; or a
        pandas, polars or Arrow table, which becomes a dict of its columns. A record
        with a missing value in a table contributes nothing to any decision.

    Raises
    ------
    InputError
        If there is no record, the leading axes differ, or a leaf or column does not
        hold numbers. Only shapes and dtypes are looked at.
    """

    __slots__ = ("__weakref__", "_count", "_shape")

    _count: int
    _shape: Any

    def __init__(self, data: Any) -> None:
        table = table_of(data)
        leaves = table.columns if table else _array_leaves(data)
        self._count = _common_length(leaves)
        # Containers of our own, so that the caller's may change.
        source = table or jax.tree.map(lambda leaf: leaf, data)
        self._shape = _one_record(source)
        _SEALED[self] = source

    def __len__(self) -> int:
        return self._count

    def shape_of_one(self, dtype: Any) -> Any:
        """Shape and dtype of one record in a chain of the given float dtype."""
        return jax.tree.map(
            lambda leaf: jax.ShapeDtypeStruct(leaf.shape, _narrow(leaf.dtype, dtype)),
            self._shape,
        )

    def __repr__(self) -> str:
        return f"Records({self._count:,} records, sealed)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("records are sealed: they cannot be copied, pickled or saved")


_SEALED: WeakKeyDictionary[Records, Any] = WeakKeyDictionary()


def open_records(
    records: Records, dtype: Any, devices: list[jax.Device]
) -> tuple[Opened, int]:
    """Place records on the devices, for use inside the boundary alone.

    They are padded to a whole number of blocks on each device with entries that are
    not present. The length of a block is returned too.

    Guarantee
    ---------
    Entry i of every array, and of ``present``, is a function of record i and of
    public numbers. Entries from N on are not present.
    """
    count = len(records)
    block = min(BLOCK, -(-count // len(devices)))
    stride = block * len(devices)
    padded = -(-count // stride) * stride
    mesh = Mesh(np.asarray(devices), ("records",))
    sharding = NamedSharding(mesh, PartitionSpec("records"))

    def place(leaf: np.ndarray) -> jax.Array:
        room = [(0, padded - count), *[(0, 0)] * (leaf.ndim - 1)]
        return jax.device_put(np.pad(leaf, room), sharding)

    arrays, present = open_on_host(records, dtype)
    known = np.ones(count, bool) if present is None else present
    return jax.tree.map(place, Opened(arrays, known)), block


def open_on_host(records: Records, dtype: Any) -> Opened:
    """Open records as host arrays, for use inside the boundary alone.

    Numbers are narrowed to the chain's precision, record by record. A record of a
    table with a missing value is not present; records that are arrays all are.

    Guarantee
    ---------
    Entry i of every array, and of ``present``, is a function of record i and of
    public numbers. Whether ``present`` is None depends on the schema alone.
    """
    source = _SEALED[records]
    arrays, missing = _read(source)
    _require_unchanged(records, arrays)

    def narrow(leaf: np.ndarray) -> np.ndarray:
        return _saturate(leaf, _narrow(leaf.dtype, dtype))

    narrowed = jax.tree.map(narrow, arrays)
    return Opened(narrowed, None if missing is None else ~missing)


def _read(source: Any) -> tuple[Any, np.ndarray | None]:
    """Read what was sealed; no error tells of a value."""
    try:
        if not isinstance(source, Table):
            return jax.tree.map(np.asarray, source), None
        columns = {name: read_column(source, name) for name in source.names}
        missing = np.logical_or.reduce([column.missing for column in columns.values()])
        return {name: column.values for name, column in columns.items()}, missing
    except Exception:
        raise InputError(_CHANGED) from None


_CHANGED = (
    "the records have changed since they were sealed: their number, shapes or dtypes "
    "are no longer what they were. Seal them again, and leave them as they are."
)


def _require_unchanged(records: Records, arrays: Any) -> None:
    """Refuse arrays that are not of the shapes and dtypes that were sealed."""
    same = jax.tree.map(
        lambda leaf, one: (
            leaf.shape == (len(records), *one.shape) and leaf.dtype == one.dtype
        ),
        arrays,
        records._shape,
    )
    if not all(jax.tree.leaves(same)):
        raise InputError(_CHANGED)


def _saturate(leaf: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Cast, with whole numbers too large for the dtype put at its end."""
    if dtype.kind in "iu" and leaf.dtype.itemsize > dtype.itemsize:
        limits = np.iinfo(dtype)
        leaf = np.clip(leaf, limits.min, limits.max)
    with np.errstate(all="ignore"):  # a warning would depend on the values
        return leaf.astype(dtype)


def _narrow(leaf: np.dtype, dtype: Any) -> np.dtype:
    """Return the dtype of a leaf in a chain of float ``dtype``."""
    if _is_float(leaf):
        return np.dtype(dtype)
    small = {"i": np.dtype(np.int32), "u": np.dtype(np.uint32)}.get(leaf.kind, leaf)
    wide = np.dtype(dtype).itemsize == 8
    narrow = leaf if wide or leaf.itemsize <= small.itemsize else small
    return narrow.newbyteorder("=")


def _array_leaves(data: Any) -> list[tuple[str, tuple[int, ...]]]:
    leaves = []
    for path, leaf in jax.tree_util.tree_leaves_with_path(data):
        name = f"records{jax.tree_util.keystr(path)}"
        shape = getattr(leaf, "shape", ())
        if not hasattr(leaf, "dtype") or len(shape) == 0:
            raise InputError(
                f"{name} is a {type(leaf).__name__}, not an array with one entry for "
                "each record. Give a pytree of arrays with a common leading axis, or "
                "a pandas, polars or Arrow table."
            )
        if not _holds_numbers(leaf.dtype):
            raise InputError(
                f"{name} has dtype {leaf.dtype}; records must be booleans, whole "
                "numbers or floats. Encode it as numbers first."
            )
        leaves.append((name, tuple(shape)))
    return leaves


def _holds_numbers(dtype: Any) -> bool:
    try:
        return np.dtype(dtype).kind in "biuf" or _is_float(np.dtype(dtype))
    except TypeError:
        return False


def _is_float(dtype: np.dtype) -> bool:
    """Whether it is a float, JAX's own kinds (bfloat16) included."""
    return bool(jnp.issubdtype(dtype, jnp.floating))


def _common_length(leaves: list[tuple[str, tuple[int, ...]]]) -> int:
    lengths = {name: shape[0] for name, shape in leaves}
    if not lengths:
        raise InputError("records hold no array. Give at least one array or column.")
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name}: {length}" for name, length in lengths.items())
        raise InputError(
            f"records have unequal leading axes ({listed}); each array must have one "
            "entry for each record."
        )
    count = next(iter(lengths.values()))
    if not 1 <= count <= RECORD_LIMIT:
        raise InputError(
            f"there are {count} records; the number must be from 1 to {RECORD_LIMIT}."
        )
    return count


def _one_record(source: Any) -> Any:
    if isinstance(source, Table):
        return {
            name: _Leaf((), dtype)
            for name, dtype in zip(source.names, source.dtypes, strict=True)
        }
    return jax.tree.map(
        lambda leaf: _Leaf(tuple(leaf.shape[1:]), np.dtype(leaf.dtype)), source
    )
