# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Parts of a run: arrays by name as one file that shows when it is damaged.

A part is an ``.npz`` archive, as NumPy writes and reads it. The comment at its end is
the SHA-256 of a seal, which says where the part belongs, and of all bytes before.
"""

import hashlib
import io
import zipfile
from collections.abc import Mapping

import numpy as np

from dpmcmc.errors import InputError

__all__ = ["decode", "encode"]

_DIGITS = 64
_ANY_DAY = (1980, 1, 1, 0, 0, 0)


def encode(arrays: Mapping[str, np.ndarray], seal: str) -> bytes:
    """Return arrays as the bytes of a part.

    Raises
    ------
    InputError
        If a name cannot be stored, or an array holds objects.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, values in arrays.items():
            array = np.asarray(values)
            _require_storable(name, array)
            entry = io.BytesIO()
            np.lib.format.write_array(entry, array, allow_pickle=False)
            # the same arrays are the same bytes on any day
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", _ANY_DAY), entry.getvalue())
    # An archive ends with the length of its comment, in two bytes, and the comment.
    body = buffer.getvalue()[:-2] + _DIGITS.to_bytes(2, "little")
    return body + _digest(body, seal)


def decode(data: bytes, seal: str) -> dict[str, np.ndarray]:
    """Return the arrays of a part.

    Raises
    ------
    ValueError
        If a single bit is not as `encode` made it, or the seal is another.
    """
    if _digest(data[:-_DIGITS], seal) != data[-_DIGITS:]:
        raise ValueError("the checksum does not fit")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {
            entry.filename.removesuffix(".npy"): np.lib.format.read_array(
                io.BytesIO(archive.read(entry)), allow_pickle=False
            )
            for entry in archive.infolist()
        }


def _digest(body: bytes, seal: str) -> bytes:
    return hashlib.sha256(seal.encode() + b"\n" + body).hexdigest().encode()


def _require_storable(name: str, array: np.ndarray) -> None:
    if not isinstance(name, str) or not name.isprintable() or len(name) > 1000:
        raise InputError(
            f"an array is named {name!r}; a name must be at most 1000 printable "
            "characters."
        )
    if array.dtype.kind not in "biufcSU":
        raise InputError(
            f"array {name!r} has dtype {array.dtype}; only booleans, numbers and text "
            "can be kept. Convert it first."
        )
