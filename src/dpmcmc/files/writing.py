# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Writing that leaves the old file or the new one, and one writer at a time."""

import os
from collections.abc import Callable
from pathlib import Path

from dpmcmc.files.problems import FileError, not_written

__all__ = ["UNFINISHED", "Lock", "write_safely"]

UNFINISHED = ".unfinished"
"""How the name of a file ends that is not whole yet."""


def write_safely(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file under another name, make it durable, then give it its name.

    A crash at any moment leaves what was there before, or the whole new file.

    Raises
    ------
    FileError
        If the system does not let us: a full disk, a folder that is not writable.
    """
    unfinished = path.with_name(f".{path.name}{UNFINISHED}")
    try:
        write(unfinished)
        _sync(unfinished, os.O_RDWR)
        unfinished.replace(path)
        _sync(path.parent, os.O_RDONLY)
    except OSError as error:
        _forget(unfinished)
        raise not_written(path, error) from None


def _sync(path: Path, mode: int) -> None:
    """Wait until what was written to a file, or the names in a folder, are on disk."""
    descriptor = os.open(path, mode)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _forget(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return  # the next writer tries again


def _require_same(descriptor: int, path: Path) -> None:
    """Refuse a lock whose file was removed by who held it before."""
    if not os.path.samestat(os.fstat(descriptor), path.stat()):
        raise FileNotFoundError(path)


class Lock:
    """The right to write to a folder; it ends with the process that holds it.

    Parameters
    ----------
    path
        A file in the folder, made if it is not there.

    Raises
    ------
    FileError
        If another process holds it, or the folder is not writable.
    """

    def __init__(self, path: Path) -> None:
        import fcntl  # noqa: PLC0415

        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise not_written(path, error) from None
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _require_same(self._descriptor, path)
        except (BlockingIOError, FileNotFoundError):
            self.release()
            raise FileError(
                f"{path.parent} is in use: another run is writing to it. Wait until it "
                "ends, or give another folder."
            ) from None
        except OSError as error:
            self.release()
            raise not_written(path, error) from None

    def release(self) -> None:
        """Let others write."""
        os.close(self._descriptor)
