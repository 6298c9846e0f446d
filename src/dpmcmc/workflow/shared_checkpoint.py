# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""One checkpoint for all processes of a run: the first charges and writes.

What it says (done, or refused and why) goes to the others before they go on, so that no
process reads a record for a part that was not charged, and none goes on alone.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

from dpmcmc.errors import InputError
from dpmcmc.files.parts import decode as decode_arrays
from dpmcmc.files.parts import encode as encode_arrays
from dpmcmc.ledger.codec import canonical, decode, encode
from dpmcmc.posterior import Statement
from dpmcmc.processes import from_first, is_first
from dpmcmc.sampling.checkpoint import Checkpoint, MemoryCheckpoint
from dpmcmc.sampling.stages import Charged, Events, Part

__all__ = ["SharedCheckpoint", "say"]

_SEAL = "between processes"


def say(act: Callable[[], Any]) -> Any:
    """Do something on the first process, and tell the others how it went.

    Returns
    -------
    Any
        What the first process's act returned, as JSON has it.

    Raises
    ------
    InputError
        On the others, if it raised one; on the first, whatever it raised.
    RuntimeError
        On the others, if it raised anything else.
    """
    if not is_first():
        said = json.loads(from_first(b""))
        if "refused" in said:
            raise InputError(said["refused"])
        if "failed" in said:
            raise RuntimeError(f"the first process failed: {said['failed']}")
        return said["done"]
    try:
        said = {"done": act()}
    except InputError as problem:
        from_first(json.dumps({"refused": str(problem)}).encode())
        raise
    except BaseException as problem:
        from_first(json.dumps({"failed": type(problem).__name__}).encode())
        raise
    return json.loads(from_first(json.dumps(said).encode()))["done"]


class SharedCheckpoint:
    """A checkpoint that the first process has, for all processes of a run.

    Parameters
    ----------
    checkpoint
        The checkpoint on the first process; None on the others.
    """

    is_shared = True

    def __init__(self, checkpoint: Checkpoint | None) -> None:
        if checkpoint is None and is_first():
            checkpoint = MemoryCheckpoint()
        self._own = checkpoint
        self._known = MemoryCheckpoint()

    def reserve(self, events: Events, statement: Statement) -> None:
        """Reserve on the first process; all then know what was charged and kept."""
        names = [stage.name for stage in statement.stages]

        def act() -> Any:
            assert self._own is not None
            self._own.reserve(events, statement)
            return [
                {part: encode(one) for part, one in self._own.charged(name).items()}
                for name in names
            ]

        charged = say(act)
        self._known.reserve(events, statement)
        for name, parts in zip(names, charged, strict=True):
            for part, values in parts.items():
                self._known.charge(name, part, decode(values))
        for name in names:
            for part in self._kept_by_first(name):
                self._known.keep(name, part)

    def charge(self, stage: str, part: str, events: Events) -> None:
        """Charge a part on the first process.

        Guarantee
        ---------
        It returns on no process before the first one's checkpoint has returned; and on
        none that is at another part, or would charge something else.
        """
        asked = [stage, part, canonical(encode(events))]

        def act() -> Any:
            assert self._own is not None
            self._own.charge(stage, part, events)
            return asked

        if say(act) != asked:
            raise RuntimeError("the processes of this run are not at the same part")
        self._known.charge(stage, part, events)

    def charged(self, stage: str) -> Charged:
        """The parts of a stage that were charged."""
        return self._known.charged(stage)

    def keep(self, stage: str, part: Part) -> None:
        """Keep what a part released, on the first process."""

        def act() -> None:
            assert self._own is not None
            self._own.keep(stage, part)

        say(act)
        self._known.keep(stage, part)

    def kept(self, stage: str) -> Sequence[Part]:
        """The parts of a stage that were kept."""
        return self._known.kept(stage)

    def _kept_by_first(self, stage: str) -> Sequence[Part]:
        """The parts that the first process's checkpoint kept before."""
        parts = () if self._own is None else self._own.kept(stage)
        names: list[str] = say(lambda: [part.name for part in parts])
        found = []
        for place, name in enumerate(names):
            own = encode_arrays(parts[place].arrays, _SEAL) if parts else b""
            found.append(Part(name, decode_arrays(from_first(own), _SEAL)))
        return found
