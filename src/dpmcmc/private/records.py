# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Records: sealed where they enter, opened only inside the boundary.

The wrapper shows what is public (the number of records or units, the shape and dtype
of one) and nothing else. It guards against accident, in our code and the user's; it
cannot guard against a hostile program in the same Python process.
"""

from typing import Any, NoReturn
from weakref import WeakKeyDictionary

import jax

from dpmcmc.errors import InputError
from dpmcmc.model.schema import Schema
from dpmcmc.private.context import boundary_arithmetic
from dpmcmc.private.padded import Padded
from dpmcmc.private.sealing import part_of
from dpmcmc.private.sources import Source, common_length, schema_of, source_of
from dpmcmc.private.tables import narrow
from dpmcmc.private.units import Grouped, grouped

__all__ = ["SEALED", "Records"]


class Records:
    """Sensitive records that only the privacy boundary can open.

    Parameters
    ----------
    data
        A pytree of arrays or columns with a common leading axis, one entry a record; a
        pandas, polars or Arrow table, which becomes a dict of its columns; or a
        `dpmcmc.files.DataFile`, whose values are read when they are first needed. A
        record with a missing value (a null or NaN in a column of a table, a masked
        cell of an array) contributes nothing to any decision.
    schema
        What is known of a table: the columns to read, as numbers, integers, texts with
        levels or dates, and their bounds. A data file has its own.
    unit
        The column with the ids of units, such as persons, each of which is protected
        with all its records; unless given, each record by itself. Ids are numbers or
        texts; a record without one contributes nothing. The number of units is public:
        they are counted here.
    most
        How many records of a unit count: of those without a missing value the first,
        in the order of the table. How many a unit has is not public.
    size
        A public number to protect how many records, or units, there are: adding and
        removing one is then protected as substituting it is. If there are more, the
        first count. All three may stand in the schema instead.
    in_parts
        Whether the records are spread over all processes that `jax.distributed` has
        joined. Each gives its own part, which may be empty; or all give the same
        Parquet `dpmcmc.files.DataFile`, of which each reads its own row groups; with
        units, which must be a file, the rows of its own units.
    streamed
        Whether records in parts pass through the devices in blocks, for tables that do
        not fit there. What a file holds is kept on disk, in a file without a name in
        the folder for temporary ones (``TMPDIR``). The same is drawn, bit for bit.

    Attributes
    ----------
    schema, unit, most, streamed
        As given; without units, None and 1.
    sizes
        How many records, or units, each process has, if they are in parts; else None.

    Raises
    ------
    InputError
        If there is no record, the leading axes differ, or an array or column does not
        hold numbers. Only shapes and types are looked at, and the number of ids.
    """

    __slots__ = (
        *("__weakref__", "_count", "_kinds"),
        *("most", "schema", "sizes", "streamed", "unit"),
    )

    def __init__(
        self,
        data: Any,
        *,
        schema: Schema | None = None,
        unit: str | None = None,
        most: int | None = None,
        size: int | None = None,
        in_parts: bool = False,
        streamed: bool = False,
    ) -> None:
        if streamed and not in_parts:
            raise InputError(
                "streamed is given without in_parts. Give in_parts=True, too: one "
                "process has all the records as its part."
            )
        given = Schema(unit=unit, most=most, size=size)
        self.schema: Schema = schema_of(data, schema).joined(given)
        self.unit, self.most = self.schema.unit, self.schema.most or 1
        self.sizes: tuple[int, ...] | None = None
        self.streamed = streamed
        with boundary_arithmetic():
            entries: Source | Grouped
            entries = rows = source_of(data, self.schema)
            if in_parts:
                entries, self.sizes = part_of(rows, self.schema, streamed)
            elif self.unit is not None:
                entries = grouped(rows, self.unit, self.most)
            count = common_length(entries.kinds, least=int(not in_parts))
            size = self.schema.size
            sealed = entries if size is None else Padded(entries, size)
            self._kinds = sealed.kinds
        self._count: int = sum(self.sizes) if self.sizes else size or count
        SEALED[self] = sealed

    @classmethod
    def from_parquet(
        cls, path: Any, columns: Any = None, *, streamed: bool = False, **declared: Any
    ) -> "Records":
        """Records of a Parquet file or folder, in parts; see `files.DataFile`."""
        from dpmcmc.files.data_file import DataFile  # noqa: PLC0415 - a room above

        opened = DataFile(path, columns, **declared)
        return cls(opened, in_parts=True, streamed=streamed)

    def __len__(self) -> int:
        return self._count

    def shape_of_one(self, dtype: Any) -> Any:
        """Shape and dtype of one record, or unit, in a chain of that float dtype."""
        return jax.tree.map(
            lambda kind: jax.ShapeDtypeStruct(
                kind.shape[1:], narrow(kind.dtype, dtype)
            ),
            self._kinds,
        )

    def __repr__(self) -> str:
        what = "records" if self.unit is None else f"units by {self.unit!r}"
        return f"Records({self._count:,} {what}, sealed)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("records are sealed: they cannot be copied, pickled or saved")


Sealed = Source | Grouped | Padded

SEALED: WeakKeyDictionary[Records, Sealed] = WeakKeyDictionary()
