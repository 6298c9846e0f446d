# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What the processes of one run say to each other, over JAX's own channel.

A run may have several processes, started by Slurm, Kubernetes or by hand, that
`jax.distributed` joins. All of them run the same program. The first makes keys, talks
to ledgers and writes; what it says here, the others take over. Every function is called
by all processes, in the same order.
"""

import hashlib
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import jax
import numpy as np

from dpmcmc.errors import InputError

__all__ = [
    "agreed",
    "from_each",
    "from_first",
    "is_first",
    "join",
    "on_all",
    "own",
    "require_all",
    "together",
]

_SILENCE = 30
"""Seconds without a word after which a process counts as dead, and all end."""

_LENGTH = struct.Struct("<q")


def join() -> None:
    """Join the processes of a job, as Slurm, Open MPI or Kubernetes started them.

    Started by hand, each has JAX_COORDINATOR_ADDRESS, JAX_NUM_PROCESSES and
    JAX_PROCESS_ID in its environment. A process that dies ends the others within a
    minute.

    Raises
    ------
    InputError
        If there is nothing to join.
    """
    numbers = [os.environ.get(name) for name in ("JAX_NUM_PROCESSES", "JAX_PROCESS_ID")]
    try:
        count, place = (None if text is None else int(text) for text in numbers)
        jax.distributed.initialize(
            num_processes=count,
            process_id=place,
            heartbeat_timeout_seconds=_SILENCE,
            shutdown_timeout_seconds=_SILENCE,
        )
    except ValueError as problem:
        raise InputError(
            "this process cannot join others: it was started neither by Slurm, Open "
            "MPI or Kubernetes nor with JAX_COORDINATOR_ADDRESS, JAX_NUM_PROCESSES and "
            "JAX_PROCESS_ID in its environment."
        ) from problem


def together() -> int:
    """How many processes there are."""
    return jax.process_count() if jax.distributed.is_initialized() else 1


def own() -> int:
    """The number of this process, from 0 on."""
    return jax.process_index() if jax.distributed.is_initialized() else 0


def is_first() -> bool:
    """Whether this process speaks for all: makes keys, charges and writes."""
    return own() == 0


def from_first(message: bytes) -> bytes:
    """What the first process says; the others' messages are not looked at."""
    if together() == 1:
        return message
    size = _LENGTH.unpack(_sent(_LENGTH.pack(len(message))))[0]
    said = message if is_first() else bytes(size)
    room = max(256, 1 << (size - 1).bit_length())  # few sizes, so few programs
    return _sent(said.ljust(room, b"\0"))[:size]


def from_each(message: bytes) -> list[bytes]:
    """What every process says, in their order; messages have one length."""
    if together() == 1:
        return [message]
    from jax.experimental import multihost_utils  # noqa: PLC0415 - slow to import

    rows = multihost_utils.process_allgather(np.frombuffer(message, np.uint8))
    return [np.asarray(row, np.uint8).tobytes() for row in np.asarray(rows)]


def agreed(tree: Any) -> Any:
    """The arrays of the first process, in place of those that all have computed.

    Public numbers, which processors of different kinds may have rounded otherwise.

    Raises
    ------
    RuntimeError
        If the arrays are of other shapes: processes are not at the same place.
    """
    if together() == 1:
        return tree
    leaves, structure = jax.tree.flatten(tree)
    arrays = [np.asarray(leaf) for leaf in leaves]
    shapes = str([(leaf.shape, leaf.dtype.str) for leaf in arrays])
    digest = hashlib.sha256(shapes.encode()).digest()
    said = from_first(digest + b"".join(leaf.tobytes() for leaf in arrays))
    if said[: len(digest)] != digest:
        raise RuntimeError("the processes of this run are not at the same place")
    found: list[Any] = []
    start = len(digest)
    for leaf, array in zip(leaves, arrays, strict=True):
        part = np.frombuffer(said[start : start + array.nbytes], array.dtype)
        # a number of Python stays one: it has no precision of its own
        is_plain = isinstance(leaf, bool | int | float)
        found.append(part.item() if is_plain else part.reshape(array.shape))
        start += array.nbytes
    return jax.tree.unflatten(structure, found)


def require_all(is_well: bool, what: str) -> None:
    """Refuse on every process what one of them cannot do; ``what`` it cannot, in words.

    Raises
    ------
    InputError
        If a process is not well, on every process.
    """
    said = from_each(bytes([is_well]))
    failed = [str(number) for number, word in enumerate(said) if word == b"\0"]
    if failed:
        raise InputError(
            f"{what}: this failed on process {', '.join(failed)} of {len(said)}. See "
            "what was written there."
        )


@contextmanager
def on_all(what: str) -> Iterator[None]:
    """Do something that every process must be able to do; see `require_all`.

    A process on which it raises an `InputError` raises its own.
    """
    try:
        yield
    except InputError:
        with suppress(InputError):
            require_all(False, what)
        raise
    require_all(True, what)


def _sent(message: bytes) -> bytes:
    """Bytes of the first process, of a length that all know."""
    from jax.experimental import multihost_utils  # noqa: PLC0415 - slow to import

    words = np.frombuffer(message, np.uint8)
    return np.asarray(multihost_utils.broadcast_one_to_all(words), np.uint8).tobytes()
