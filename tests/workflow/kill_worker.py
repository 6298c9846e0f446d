# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Kills jobs at random moments, and looks at what is left. Run by the tests.

This process imports everything once, and never starts JAX; every job is a fork of it
that runs the command line. Before a job reads a record, it writes down durably what it
is going to read, from inside the boundary. What was found is printed as JSON.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

os.environ["JAX_COMPILATION_CACHE_DIR"] = sys.argv[1] + "/compiled"
os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import arviz  # noqa: F401 - imported once, before the forks
from jax._src.xla_bridge import backends_are_initialized
from small_jobs import make_study

from dpmcmc import cli
from dpmcmc.files import RunFolder
from dpmcmc.ledger import Ledger, Reservation
from dpmcmc.private import acceptance
from dpmcmc.private.chains import Chains
from dpmcmc.workflow import running

STEPS, CHUNK = 120, 2

_EVENTS_A_CHUNK, _OTHER_EVENTS = 4, 8
"""It is charged in ledger and folder, run and kept; and a job begins and ends."""

LONGEST_WAIT = 0.03
"""Seconds between an event and a kill: about what one write to the ledger takes."""


def main(folder: Path, kills: int, seed: int) -> dict[str, Any]:
    """Kill jobs, each of which goes on where the last was killed, and look after each.

    Where a job is killed is drawn from all that a job does.
    """
    make_study(folder)
    moments = random.Random(seed)
    whole, code = _attempt(folder / "first", None, 0.0)
    problems = _look(folder, folder / "first", code)
    number, died = 0, []
    while len(died) < kills and not problems:
        out = folder / f"run-{number}"
        # Beyond its end once in five times, so that many come to it; and often among
        # the first few events, before and while something is set aside.
        left = max(_OTHER_EVENTS, whole - _EVENTS_A_CHUNK * _charges(out))
        at = moments.randrange(left * 5 // 4)
        at = moments.choice([at, at, at, at % 8])
        _, code = _attempt(out, at, moments.uniform(0.0, LONGEST_WAIT))
        problems += _look(folder, out, code)
        if code == 0:
            number += 1
        else:
            died.append(_last_part(out))
    return {
        "finished": number,
        "died": died,
        "events": whole,
        "problems": problems,
        "forked after JAX": backends_are_initialized(),
    }


def _attempt(out: Path, at: int | None, wait: float) -> tuple[int, int]:
    """Run or go on with a job; kill it after so many events, and a moment.

    Returns how many events there were, and how the job ended.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _job(out, writer)
    os.close(writer)
    seen = 0
    while at is None or seen < at:
        if not os.read(reader, 1):
            break  # it ended by itself
        seen += 1
    else:
        time.sleep(wait)
        os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.close(reader)
    return seen, code


def _job(out: Path, writer: int) -> None:
    """Be the job: the command line, with its reading watched. Never returns."""
    said = os.open(f"{out}.said", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(said, 1)
    os.dup2(said, 2)
    reads = os.open(f"{out}.reads", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(words: str) -> None:
        os.write(reads, f"{words}\n".encode())
        os.fsync(reads)

    def wrap(where: Any, name: str, before: Any, after: Any = lambda *_: None) -> None:
        original = getattr(where, name)

        def wrapped(*given: Any, **named: Any) -> Any:
            before(*given)
            result = original(*given, **named)
            after(*given)
            return result

        setattr(where, name, wrapped)

    note("begin 0")
    wrap(acceptance, "open_records", lambda *_: note("open 0"))
    wrap(Chains, "_run_chunk", lambda _, steps, __: note(f"read {steps}"))
    wrap(
        Reservation,
        "charge",
        lambda *_: None,
        lambda _, events, part: note(f"charge {sum(events.values())}"),
    )
    for where, name in (
        (RunFolder, "create"),
        (Ledger, "quote"),
        (Ledger, "reserve"),
        (Ledger, "resume"),
        (RunFolder, "note"),
        (Reservation, "charge"),
        (Reservation, "close"),
        (Chains, "_run_chunk"),
        (RunFolder, "keep"),
        (RunFolder, "save_posterior"),
        (running, "write_report"),
    ):
        wrap(where, name, lambda *_: os.write(writer, b"."))
    goes_on = ["--resume"] if (out / "run.json").exists() else _options(out.parent)
    try:
        code = cli.main(["sample", *goes_on, "--out", str(out), "--yes"])
    except BaseException as error:
        os.write(2, f"{error!r}\n".encode())
        code = 99
    os._exit(code)


def _options(folder: Path) -> list[str]:
    words = (
        f"{folder}/model.py:model --data {folder}/people.csv --delta 1e-6 "
        f"--method barker --clip 0.0005 --steps {STEPS} --scale 0.3 "
        f"--ledger {folder}/study.db --data-set people --analyst ana"
    )
    return words.split()


def _look(folder: Path, out: Path, code: int) -> list[str]:
    """Say what is wrong with the ledger and with a job that was killed, or ended."""
    problems = []
    if code not in (0, -signal.SIGKILL):
        problems.append(f"{out.name} ended with {code}: {_said(out)[-500:]}")
    run = RunFolder.open(out).facts.get("run") if (out / "run.json").exists() else None
    with Ledger.open(folder / "study.db", create=False) as ledger:
        problems += ledger.verify().problems
        charges = ledger.charges(run or "")
        view = ledger.overview("people")
    if view.spent + view.reserved > 1:
        problems.append(f"more than the budget: {view}")
    problems += [f"{one} passed {one}" for one in view.runs if one.spent > one.held]
    charged = sum(sum(events.values()) for _, events in charges)
    lines = Path(f"{out}.reads").read_text().splitlines()
    read = sum(int(line[5:]) for line in lines if line.startswith("read "))
    if read > charged or (any("open" in line for line in lines) and not charges):
        problems.append(f"{out.name} read {lines} and was charged {charges}")
    if not _in_order(lines):
        problems.append(f"{out.name} read before it was charged: {lines}")
    parts = [part for part, _ in charges]
    if len(set(parts)) != len(parts):
        problems.append(f"{out.name} was charged twice: {parts}")
    if code == 0:
        problems += _look_at_end(out, charged, {one.run: one for one in view.runs}[run])
    return problems


def _in_order(lines: list[str]) -> bool:
    """Whether each process was charged for whatever it read, before it read it."""
    charged = 0
    for line in lines:
        what, count = line.split()
        if what == "begin":
            charged = 0
        elif what == "charge":
            charged += int(count)
        elif charged == 0 or charged < int(count):
            return False
        else:
            charged -= int(count)
    return True


def _look_at_end(out: Path, charged: int, view: Any) -> list[str]:
    """Say what is wrong with a job that came to its end."""
    posterior = RunFolder.open(out).posterior()
    steps = posterior.accepted.shape[1] + posterior.warmup_accepted.shape[1]
    kept = [one for one in RunFolder.open(out).parts() if one.startswith("chain-")]
    ended = {
        "charged": charged == STEPS,
        "kept": steps == CHUNK * len(kept) > 0,
        "closed": view.state == "closed",
        "reported": (out / "report.html").exists(),
    }
    return [f"{out.name} was not {one}" for one, is_so in ended.items() if not is_so]


def _charges(out: Path) -> int:
    reads = Path(f"{out}.reads")
    return reads.read_text().count("charge ") if reads.exists() else 0


def _last_part(out: Path) -> str:
    if not (out / "run.json").exists():
        return "before"
    folder = RunFolder.open(out)
    if "reserved" not in folder.facts:
        return "asking"
    return (folder.parts() or ("reserved",))[-1]


def _said(out: Path) -> str:
    return Path(f"{out}.said").read_text()


if __name__ == "__main__":
    place, how_many, first = sys.argv[1:]
    print(json.dumps(main(Path(place), int(how_many), int(first))))
