# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The run folder: what a run released, kept as it is released."""

import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dpmcmc.errors import InputError
from dpmcmc.files.facts import (
    plain_json,
    read_facts,
    text_of_facts,
)
from dpmcmc.files.parts import decode, encode
from dpmcmc.files.problems import FileError, not_readable, not_written
from dpmcmc.files.writing import UNFINISHED, Lock, write_safely
from dpmcmc.posterior.posterior import Posterior

__all__ = ["RunFolder"]

_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_MOST = 10**6
"""Parts are numbered with six digits."""

_KEPT = re.compile(rf"(\d{{6}})\.({_PART.pattern})\.npz")


class RunFolder:
    """A folder of what a run released: its facts, its parts, its posterior.

    It holds released things only. No record, and nothing computed from one that was
    not paid for, ever comes here, so that the folder may be shared with whoever may
    see the result.

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
        self._run = run
        self._facts = facts
        self._lock = lock

    @classmethod
    def create(cls, path: str | Path, facts: Mapping[str, Any]) -> "RunFolder":
        """Make a folder for a new run, and lock it.

        Parameters
        ----------
        path
            The folder: new, or empty.
        facts
            What is to be known of the run, as JSON: settings, versions, names.

        Raises
        ------
        FileError
            If the folder holds a run or anything else, is in use, or cannot be
            written.
        """
        path = Path(path)
        plain = plain_json(facts)
        try:
            path.mkdir(parents=True, exist_ok=True)
            _require_room(path)
            lock = Lock(path / "lock")
        except FileExistsError:
            raise FileError(f"{path} is a file. Give a folder for the run.") from None
        except OSError as error:
            raise not_written(path, error) from None
        folder = cls(path, secrets.token_hex(16), plain, lock)
        try:
            _require_room(path)  # another may have come first
            folder._parts.mkdir(exist_ok=True)
            folder._write_facts()
        except FileError:
            folder.close()
            raise
        except OSError as error:
            folder.close()
            raise not_written(path, error) from None
        return folder

    @classmethod
    def open(cls, path: str | Path, *, write: bool = False) -> "RunFolder":
        """Open the folder of a run.

        Parameters
        ----------
        path
            The folder.
        write
            Whether to lock it at once, to go on with the run. To read needs no lock.

        Raises
        ------
        FileError
            If it is not the folder of a run, it is damaged or of a newer version, or
            to be written and in use.
        """
        path = Path(path)
        if not path.is_dir():
            raise FileError(f"there is no folder {path}. Give the folder of a run.")
        folder = cls(path, *read_facts(path), None)
        if write:
            folder._require_lock()
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
        """Write a part that was released, once it has been.

        Parameters
        ----------
        part
            Its name, such as ``start`` or ``chunk-000007``: letters, digits, ``-`` and
            ``_``. A part is kept once, and never changed.
        arrays
            What was released: booleans, numbers or text.
        """
        if not isinstance(part, str) or not _PART.fullmatch(part):
            raise InputError(
                f"a part is named {part!r}; the name must be 1 to 100 letters, digits, "
                "hyphens or underscores, and not begin with one of the last two."
            )
        self._require_lock()
        kept = self.parts()
        if part in kept:
            raise FileError(
                f"{self.path} holds the part {part!r} already; what was released is "
                "never changed. Give it another name."
            )
        if len(kept) >= _MOST:
            raise FileError(
                f"{self.path} holds {len(kept):,} parts, which is the most that a run "
                "folder may hold. Go on in a new folder, with larger parts."
            )
        path = self._parts / f"{len(kept):06d}.{part}.npz"
        data = encode(arrays, self._seal(path))
        write_safely(path, lambda unfinished: unfinished.write_bytes(data))

    def parts(self) -> tuple[str, ...]:
        """Return the names of all parts, in the order in which they were kept.

        Raises
        ------
        FileError
            If one is missing among them.
        """
        return tuple(_part_of(path) for path in self._files())

    def read(self, part: str) -> dict[str, np.ndarray]:
        """Read a part, and check it.

        Raises
        ------
        FileError
            If there is no such part, or it is damaged.
        """
        found = {_part_of(path): path for path in self._files()}
        if part not in found:
            raise FileError(
                f"{self.path} holds no part {part!r}; it holds "
                f"{', '.join(map(repr, found)) or 'none'}."
            )
        path = found[part]
        try:
            return decode(path.read_bytes(), self._seal(path))
        except OSError as error:
            raise not_readable(path, error) from None
        except Exception:  # whatever damage may cause
            raise FileError(
                f"{path} is damaged, or of another run. Put back a whole copy of it; "
                "what it held cannot be had from the records again without paying."
            ) from None

    def save_posterior(self, posterior: Posterior) -> None:
        """Write the posterior, and its statement as text and as JSON.

        Raises
        ------
        FileError
            If they cannot be written. A posterior that was there before stays.
        """
        self._require_lock()
        data = posterior.to_netcdf()
        write_safely(self._posterior, lambda unfinished: unfinished.write_bytes(data))
        statement = posterior.statement
        self._write_text("statement.txt", statement.text + "\n")
        self._write_text("statement.json", statement.to_json() + "\n")

    def posterior(self) -> Posterior:
        """Read the posterior that was saved, and check it.

        Raises
        ------
        FileError
            If there is none yet, or it is damaged.
        """
        path = self._posterior
        if not path.is_file():
            raise FileError(
                f"there is no {path}: the run has not come to its end. Go on with it "
                "(--resume)."
            )
        try:
            return Posterior.load(path)
        except InputError as error:
            raise FileError(
                f"{error} A run makes it again from its parts (--resume)."
            ) from None

    def discard(self) -> None:
        """Take back a folder whose run never began, so that it can be used again.

        Raises
        ------
        FileError
            If something was kept: what was released and paid for is not thrown away.
        """
        self._require_lock()
        if self.parts():
            raise FileError(
                f"{self.path} holds what a run released. Remove it by hand if it is "
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
        return f"<RunFolder {self.path}>"

    @property
    def _parts(self) -> Path:
        return self.path / "parts"

    @property
    def _posterior(self) -> Path:
        return self.path / "posterior.nc"

    def _seal(self, path: Path) -> str:
        """What binds a part to this run, and to its place in it."""
        return f"{self._run} {path.name}"

    def _require_lock(self) -> None:
        """Take the lock to write, if it is not held; others may have written before."""
        if self._lock is None:
            self._lock = Lock(self.path / "lock")
            self._run, self._facts = read_facts(self.path)
            self._forget_unfinished()

    def _forget_unfinished(self) -> None:
        """Remove what a writer that died did not finish."""
        for folder in (self.path, self._parts):
            for path in folder.glob(f".*{UNFINISHED}"):
                path.unlink(missing_ok=True)

    def _files(self) -> list[Path]:
        try:
            names = sorted(path.name for path in self._parts.iterdir())
        except OSError as error:
            raise not_readable(self._parts, error) from None
        kept = [name for name in names if _KEPT.fullmatch(name)]
        for place, name in enumerate(kept):
            if int(name[:6]) != place:
                raise FileError(
                    f"{self._parts} is damaged: its file {place:06d} is missing, or "
                    "there twice. Put back a whole copy of the folder."
                )
        return [self._parts / name for name in kept]

    def _write_facts(self) -> None:
        self._write_text("run.json", text_of_facts(self._run, self._facts))

    def _write_text(self, name: str, text: str) -> None:
        write_safely(
            self.path / name,
            lambda unfinished: unfinished.write_text(text, encoding="utf-8"),
        )


def _require_room(path: Path) -> None:
    """Refuse a folder that holds a run, or anything but what a dead run began with."""
    names = {there.name for there in path.iterdir()}
    if "run.json" in names:
        raise FileError(
            f"{path} holds a run already. Go on with that run (--resume), or give "
            "another folder."
        )
    others = names - {"lock", "parts", f".run.json{UNFINISHED}"}
    if others:
        raise FileError(
            f"{path} holds other things, such as {min(others)!r}. Give a new folder, "
            "or an empty one."
        )


def _part_of(path: Path) -> str:
    return path.name[len("000000.") : -len(".npz")]
