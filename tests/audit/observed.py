# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""All that leaves a process while something runs, with one tape and one clock."""

import hashlib
import logging
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import jax
import pytest


@dataclass
class Observed:
    """What was seen from outside."""

    result: Any = None
    error: str = ""
    out: str = ""
    err: str = ""
    warned: list[str] = field(default_factory=list)
    logged: list[str] = field(default_factory=list)
    compiled: list[str] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)


def differences(one: Observed, other: Observed) -> list[str]:
    """Names of what differs, files by their names."""
    found = [
        name
        for name in vars(one)
        if name != "files" and getattr(one, name) != getattr(other, name)
    ]
    files = sorted({*one.files, *other.files})
    return found + [
        name for name in files if one.files.get(name) != other.files.get(name)
    ]


class Watch:
    """Runs functions with the same randomness and time, and looks from outside."""

    def __init__(
        self,
        patch: pytest.MonkeyPatch,
        capture: pytest.CaptureFixture[str],
        logs: pytest.LogCaptureFixture,
    ) -> None:
        self.patch, self.capture, self.logs = patch, capture, logs
        self.compiled: list[str] = []
        jax.monitoring.register_event_duration_secs_listener(self._compile)

    def _compile(self, event: str, *_: Any, **__: Any) -> None:
        if "compile" in event:
            self.compiled.append(event)

    def __call__(
        self, function: Callable[[], Any], folder: Path | None = None
    ) -> Observed:
        """Run a function; the folder holds what it wrote."""
        found = Observed()
        self.compiled.clear()
        self.logs.clear()
        self.capture.readouterr()
        asked, clock = count(), count(1_000_000)

        def made_up(size: int) -> bytes:
            return hashlib.shake_256(f"tape {next(asked)}".encode()).digest(size)

        with self.patch.context() as inside, warnings.catch_warnings(record=True) as w:
            warnings.simplefilter("always")
            inside.setattr(os, "urandom", made_up)
            inside.setattr("secrets.token_hex", lambda size: made_up(size).hex())
            inside.setattr("time.time", lambda: float(next(clock)))
            self.logs.set_level(logging.INFO, logger="dpmcmc")
            try:
                found.result = function()
            except Exception as error:
                found.error = f"{type(error).__name__}: {error}"
        found.warned = [f"{one.category.__name__}: {one.message}" for one in w]
        found.logged = [f"{r.name} {r.getMessage()}" for r in self.logs.records]
        found.compiled = sorted(self.compiled)
        found.out, found.err = self.capture.readouterr()
        if folder is not None:
            found.files = {
                str(path.relative_to(folder)): path.read_bytes()
                for path in sorted(folder.rglob("*"))
                if path.is_file()
            }
        return found
