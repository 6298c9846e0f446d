# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The run folder: what a run released, kept as it is released."""

import re
import secrets
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from dpmcmc.errors import InputError
from dpmcmc.files.facts import plain_json, read_facts, text_of_facts
from dpmcmc.files.parts import decode, encode
from dpmcmc.files.problems import FileError, not_readable, not_written
from dpmcmc.files.writing import UNFINISHED, Lock, write_safely
from dpmcmc.posterior import Posterior, Statement

__all__ = ["RunFolder"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_FILE = re.compile(rf"(\d{{6,}})\.({_NAME.pattern})\.npz")


class RunFolder:
    """A folder of what a run released: its facts, its parts, its posterior.

    It holds released results only. No record, and nothing computed from one that was
    not paid for, is ever written here, so that the folder may be shared with everyone
    who may see the result.

    Every file is written under another name, made durable and then renamed, so that a
    crash leaves whole files only; each has a checksum, so that damage is found. One
    process at a time writes; its lock ends when it dies. Made by `create` or `open`;
    use it in a ``with`` block, or `close` it.

    The folder has ``run.json`` (the facts), ``parts/`` (one ``.npz`` file each, which
    NumPy reads), ``posterior.nc`` (which ArviZ reads), ``statement.txt`` and
    ``statement.json``.
    """

    def __init__(
        self, path: Path, run: str, facts: dict[str, Any], lock: Lock | None
    ) -> None:
        self.path = path
        self._run, self._facts, self._lock = run, facts, lock
        self._parts = path / "parts"

    @classmethod
    def create(cls, path: str | Path, facts: Mapping[str, Any]) -> "RunFolder":
        """Make a new or empty folder the folder of a run, and lock it.

        ``facts`` are what is to be known of the run, as JSON: settings, versions.

        Raises
        ------
        FileError
            If the folder holds anything, is in use, or cannot be written.
        """
        path, plain = Path(path), plain_json(facts)
        with ExitStack() as undo:
            try:
                path.mkdir(parents=True, exist_ok=True)
                _require_room(path)
                lock = Lock(path / "lock")
                undo.callback(lock.release)
                _require_room(path)  # another may have come first
                folder = cls(path, secrets.token_hex(16), plain, lock)
                folder._parts.mkdir(exist_ok=True)
                folder._write_facts()
            except OSError as error:
                raise not_written(path, error) from None
            undo.pop_all()
        return folder

    @classmethod
    def open(cls, path: str | Path, *, write: bool = False) -> "RunFolder":
        """Open the folder of a run; with ``write``, lock it to continue the run.

        Raises
        ------
        FileError
            If it is not the folder of a run, is damaged or of a newer version, or is
            to be written and in use.
        """
        path = Path(path)
        if not path.is_dir():
            raise FileError(f"there is no folder {path}. Give the folder of a run.")
        folder = cls(path, *read_facts(path), None)
        if write:
            folder._lock = Lock(path / "lock")
            folder._run, folder._facts = read_facts(path)  # others may have written
            for place in (path, folder._parts):
                for unfinished in place.glob(f".*{UNFINISHED}"):
                    unfinished.unlink(missing_ok=True)
        return folder

    @property
    def facts(self) -> dict[str, Any]:
        """What is known of the run, as it was given and noted."""
        return plain_json(self._facts)

    def note(self, facts: Mapping[str, Any]) -> None:
        """Add facts, or change them."""
        self._require_lock()
        self._facts = {**self._facts, **plain_json(facts)}
        self._write_facts()

    def keep(self, part: str, arrays: Mapping[str, np.ndarray]) -> None:
        """Write a part that was released: arrays of booleans, numbers or text.

        Its name, such as ``chunk-000007``, has letters, digits, ``-`` and ``_``. A part
        is kept once, and never changed.
        """
        if not isinstance(part, str) or not _NAME.fullmatch(part):
            raise InputError(
                f"a part is named {part!r}; the name must be 1 to 100 letters, digits, "
                "hyphens or underscores, and begin with a letter or a digit."
            )
        self._require_lock()
        kept = self._files()
        if part in kept:
            raise FileError(
                f"{self.path} holds the part {part!r} already; what was released is "
                "never changed. Give it another name."
            )
        path = self._parts / f"{len(kept):06d}.{part}.npz"
        write_safely(path, encode(arrays, self._seal(path)))

    def parts(self) -> tuple[str, ...]:
        """Return the names of all parts, in the order in which they were kept."""
        return tuple(self._files())

    def read(self, part: str) -> dict[str, np.ndarray]:
        """Read a part, and check it."""
        kept = self._files()
        if part not in kept:
            raise FileError(
                f"{self.path} holds no part {part!r}; it holds "
                f"{', '.join(map(repr, kept)) or 'none'}."
            )
        path = kept[part]
        try:
            return decode(path.read_bytes(), self._seal(path))
        except OSError as error:
            raise not_readable(path, error) from None
        except Exception:  # whatever damage may cause
            raise FileError(
                f"{path} is damaged, or belongs to another run. Restore a whole copy "
                "of it; to release it again from the records would cost again."
            ) from None

    def save_posterior(self, posterior: Posterior) -> None:
        """Write the posterior and its statement.

        If it cannot be written, a posterior that was there before stays.
        """
        from dpmcmc.posterior.netcdf import to_netcdf  # noqa: PLC0415 - slow to import

        self._require_lock()
        write_safely(self.path / "posterior.nc", to_netcdf(posterior))
        self.save_statement(posterior.statement)

    def save_statement(self, statement: Statement) -> None:
        """Write what was released and what it cost, as text and as JSON."""
        self._require_lock()
        self._write_text("statement.txt", f"{statement}\n")
        self._write_text("statement.json", f"{statement.to_json()}\n")

    def posterior(self) -> Posterior:
        """Read the posterior that was saved, and check it."""
        path = self.path / "posterior.nc"
        if not path.is_file():
            raise FileError(
                f"there is no {path}: the run has not finished. Continue it (--resume)."
            )
        try:
            return Posterior.load(path)
        except InputError as error:
            raise FileError(
                f"{error} A run makes it again from its parts (--resume)."
            ) from None

    def discard(self) -> None:
        """Remove the files of a run that never began, so that the folder is empty.

        Raises
        ------
        FileError
            If a part was kept: what was released and paid for is not thrown away.
        """
        self._require_lock()
        if self._files():
            raise FileError(
                f"{self.path} holds what a run released. Delete it by hand if it is "
                "not wanted."
            )
        try:
            (self.path / "run.json").unlink()
            self._parts.rmdir()
            (self.path / "lock").unlink()
        except OSError as error:
            raise not_written(self.path, error) from None
        self.close()

    def close(self) -> None:
        """Let others write to the folder."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def __enter__(self) -> "RunFolder":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"RunFolder({str(self.path)!r})"

    def _require_lock(self) -> None:
        if self._lock is None:
            raise FileError(
                f"{self.path} was opened for reading, or closed. Open it with "
                "write=True to write to it."
            )

    def _seal(self, path: Path) -> str:
        """What binds a part to this run, and to its place in it."""
        return f"{self._run} {path.name}"

    def _files(self) -> dict[str, Path]:
        """The files of the parts by name, in the order in which they were kept."""
        try:
            names = [path.name for path in self._parts.iterdir()]
        except OSError as error:
            raise not_readable(self._parts, error) from None
        found = [match for match in map(_FILE.fullmatch, names) if match]
        found.sort(key=lambda match: int(match[1]))
        for place, match in enumerate(found):
            if int(match[1]) != place:
                raise FileError(
                    f"{self._parts} is damaged: its file {place:06d} is missing, or "
                    "there are two. Restore a whole copy of the folder."
                )
        return {match[2]: self._parts / match[0] for match in found}

    def _write_facts(self) -> None:
        self._write_text("run.json", text_of_facts(self._run, self._facts))

    def _write_text(self, name: str, text: str) -> None:
        write_safely(self.path / name, text.encode())


def _require_room(path: Path) -> None:
    """Refuse a folder that holds a run, or anything but what a dead run began with."""
    names = {there.name for there in path.iterdir()}
    if "run.json" in names:
        raise FileError(
            f"{path} holds a run already. Continue that run (--resume), or give "
            "another folder."
        )
    others = names - {"lock", "parts", f".run.json{UNFINISHED}"}
    if others:
        raise FileError(
            f"{path} holds other things, such as {min(others)!r}. Give a new folder, "
            "or an empty one."
        )
