# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What can be wrong with a file, in words: which file it is, and what to do."""

import errno
from pathlib import Path

from dpmcmc.errors import InputError

__all__ = ["FileError", "not_readable", "not_written"]


class FileError(InputError):
    """A file or folder cannot be used; the message names it and says what to do."""


def not_readable(path: Path, error: OSError) -> FileError:
    """Say that the system does not let us read a file."""
    if isinstance(error, FileNotFoundError):
        return FileError(f"there is no file {path}. Check the name and the folder.")
    if isinstance(error, IsADirectoryError):
        return FileError(f"{path} is a folder. Give one file.")
    return FileError(
        f"{path} cannot be read ({_reason(error)}). Check who may read it."
    )


def not_written(path: Path, error: OSError) -> FileError:
    """Say that the system does not let us write a file; what was there, still is."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        advice = "Make room on the disk, then go on"
    elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        advice = "Make the folder writable, or give another"
    else:
        advice = "Check the folder and the disk, or give another folder"
    return FileError(
        f"{path} cannot be written ({_reason(error)}). {advice}; what was written "
        "before is whole."
    )


def _reason(error: OSError) -> str:
    return (error.strerror or "the system gives no reason").lower()
