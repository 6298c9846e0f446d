# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Compiled programs kept on disk, so that a new process does not compile them again.

JAX keeps them, in a folder of ours, while a run is under way and at no other time: what
a user compiles elsewhere may hold data as constants, and is not ours to write down. Our
programs hold none. Records, and numbers that were released, are arguments of each.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import jax
from jax.experimental.compilation_cache.compilation_cache import reset_cache

from dpmcmc.accounting.cache import cache_folder, is_ours

__all__ = ["kept_programs"]

_OFF = "DPMCMC_NO_COMPILED"
"""Set to anything, this environment variable keeps no programs on disk."""

_ENABLED = "jax_enable_compilation_cache"
_FOLDER = "jax_compilation_cache_dir"
_SHORTEST = "jax_persistent_cache_min_compile_time_secs"

_MOST_BYTES = 2**28
"""What the folder may hold before the programs that were written first are removed."""


@contextmanager
def kept_programs() -> Iterator[None]:
    """Let JAX read and write compiled programs in our folder, meanwhile.

    Nothing is done where the user has a cache of JAX's own or has switched it off, and
    where the folder cannot be made or others may write in it: to load a program is to
    run it.

    Guarantee
    ---------
    What is written depends on the model, on shapes, settings and versions, and on no
    record.
    """
    folder = _folder()
    if folder is None:
        yield
        return
    before = {name: getattr(jax.config, name) for name in (_FOLDER, _SHORTEST)}
    reset_cache()
    jax.config.update(_FOLDER, str(folder))
    jax.config.update(_SHORTEST, 0.0)
    try:
        yield
    finally:
        for name, value in before.items():
            jax.config.update(name, value)
        reset_cache()
        _make_room(folder)


def _folder() -> Path | None:
    """Where programs are kept; None if they are not."""
    if os.environ.get(_OFF) or not getattr(jax.config, _ENABLED):
        return None
    if getattr(jax.config, _FOLDER) is not None:
        return None
    folder = cache_folder() / "compiled"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder if is_ours(folder.stat()) else None
    except OSError:
        return None


def _make_room(folder: Path) -> None:
    """Remove the programs that were written first, if there are too many bytes."""
    with suppress(OSError):  # another process may remove them, too
        found = [(path.stat().st_mtime, path) for path in folder.iterdir()]
        left = sum(path.stat().st_size for _, path in found)
        for _, path in sorted(found):
            if left <= _MOST_BYTES:
                break
            left -= path.stat().st_size
            path.unlink()
