# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Columns of a file, read a stretch at a time to where they stay: memory, or disk.

Nothing else of them is held, so that a process needs little more memory than what is
to stay in it.
"""

import math
import os
from collections.abc import Callable
from shutil import disk_usage
from tempfile import TemporaryFile, gettempdir
from typing import Any

import numpy as np

from dpmcmc.errors import InputError
from dpmcmc.private.sources import TableFile
from dpmcmc.private.tables import narrow, saturate

__all__ = ["filled", "in_memory", "on_disk", "require_room"]

_ALIGNMENT = 64
"""Bytes at a multiple of which JAX takes memory of the host as it is."""

Make = Callable[[tuple[int, ...], np.dtype], np.ndarray]
"""Makes an array of zeros."""


def filled(
    source: TableFile, dtype: Any, entries: int, make: Make
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The columns of a file in arrays of so many entries, and who is present.

    Guarantee
    ---------
    Entry i of every array, and of who is present, is a function of record i of the
    file and of public numbers. Entries beyond its records are zero, and not present.
    Whether an error is raised does not depend on the values.
    """
    dtypes = {name: narrow(source.file.dtypes[name], dtype) for name in source.names}
    arrays = {name: make((entries,), dtypes[name]) for name in dtypes}
    present = make((entries,), np.dtype(bool))
    present[: len(source.file)] = True
    for name, rows, values, there in source.file.read_stretches():
        if name in arrays:
            arrays[name][rows] = saturate(values, dtypes[name])
        present[rows] &= there
    return arrays, present


def require_room(source: TableFile) -> None:
    """Refuse records that the disk has no room for, before anything is charged.

    Raises
    ------
    InputError
        By the number of records and the dtypes, in single precision.
    """
    one = [narrow(source.file.dtypes[name], "float32") for name in source.names]
    size = len(source.file) * (1 + sum(dtype.itemsize for dtype in one))
    if size > disk_usage(gettempdir()).free:
        raise _no_room(size)


def in_memory(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Zeros that a device of this machine reads where they are, without a copy."""
    size = math.prod(shape) * dtype.itemsize
    room = np.zeros(size + _ALIGNMENT, np.uint8)
    first = -room.ctypes.data % _ALIGNMENT
    return room[first : first + size].view(dtype).reshape(shape)


def on_disk(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Zeros in a file without a name, which is gone when the array or process is.

    Raises
    ------
    InputError
        If the disk has no room, which depends on the shape alone.
    """
    size = math.prod(shape) * dtype.itemsize
    if size == 0:
        return np.zeros(shape, dtype)
    with TemporaryFile() as file:
        try:
            file.truncate(size)
            if hasattr(os, "posix_fallocate"):  # else a full disk ends the process
                os.posix_fallocate(file.fileno(), 0, size)
        except OSError:
            raise _no_room(size) from None
        return np.memmap(file, dtype, "r+", shape=shape)


def _no_room(size: int) -> InputError:
    return InputError(
        f"{gettempdir()} has no room for {size / 1e9:.3g} GB of streamed records. Set "
        "TMPDIR to a folder of a disk that has."
    )
