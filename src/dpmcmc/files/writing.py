# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Writing that leaves the old file or the new one, and one writer at a time."""

import os
from contextlib import suppress
from pathlib import Path

from dpmcmc.files.problems import FileError, not_written

__all__ = ["UNFINISHED", "Lock", "write_safely"]

UNFINISHED = ".unfinished"
"""How the name of a file ends that is not whole yet."""


def write_safely(path: Path, data: bytes) -> None:
    """Write a file under another name, make it durable, then give it its name.

    A crash at any moment leaves what was there before, or the whole new file.

    Raises
    ------
    FileError
        If the system refuses: a full disk, a folder that is not writable.
    """
    unfinished = path.with_name(f".{path.name}{UNFINISHED}")
    try:
        unfinished.write_bytes(data)
        _sync(unfinished, os.O_RDWR)
        unfinished.replace(path)
        _sync(path.parent, os.O_RDONLY)
    except OSError as error:
        with suppress(OSError):  # the next writer tries again
            unfinished.unlink(missing_ok=True)
        raise not_written(path, error) from None


def _sync(path: Path, mode: int) -> None:
    """Wait until what was written to a file, or the names in a folder, are on disk."""
    descriptor = os.open(path, mode)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
            # who held it before may have removed the file
            is_ours = os.path.samestat(os.fstat(self._descriptor), path.stat())
        except (BlockingIOError, FileNotFoundError):
            is_ours = False
        except OSError as error:
            self.release()
            raise not_written(path, error) from None
        if not is_ours:
            self.release()
            raise FileError(
                f"{path.parent} is in use: another run is writing to it. Wait until it "
                "ends, or give another folder."
            )

    def release(self) -> None:
        """Let others write."""
        os.close(self._descriptor)
