# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""``dpmcmc sample``: draws, statement and report of a table."""

import argparse
import json
import math
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpmcmc.aligned import aligned, filled
from dpmcmc.cli.common import (
    Code,
    Commands,
    add_command,
    complete_files,
    complete_folders,
    confirm,
    show_json,
)
from dpmcmc.cli.options import (
    add_job_options,
    given_options,
    job_of_options,
    option,
)
from dpmcmc.errors import InputError, NotUsableError, StoppedError

if TYPE_CHECKING:
    from dpmcmc.posterior import Posterior
    from dpmcmc.workflow import Outcome, Question

__all__ = ["add"]

_EXAMPLES = """\
examples:
  A formula, with what is declared of its columns:
    dpmcmc sample "ill ~ age + log(income) + C(region) + (1 | clinic)" \\
        --family bernoulli --data people.csv --schema schema.yaml \\
        --epsilon 1 --delta 1e-6 --out run

  A model in a Python file, charged to a ledger:
    dpmcmc sample model.py:model --data people.parquet --epsilon 1 --delta 1e-6 \\
        --ledger study.db --data-set people --out run

  See what it would cost, and spend nothing:
    dpmcmc sample model.py:model --data people.parquet --epsilon 1 --delta 1e-6 \\
        --out run --dry-run

  Choose the method and its settings:
    dpmcmc sample model.py:model --data people.csv --schema schema.yaml \\
        --epsilon 1 --delta 1e-6 \\
        --method barker --clip 0.01 --scale 0.1 --out run

  On a cluster, in as many processes as Slurm starts:
    srun -N 16 dpmcmc sample model.py:model --data folder --epsilon 1 --delta 1e-8 \\
        --out run --yes --distributed

  Go on with a run that was interrupted, with the settings that it has:
    dpmcmc sample --resume --out run

The folder then holds posterior.nc (which ArviZ reads), statement.txt, report.html. A
run that is interrupted keeps what it released; what it was charged stays charged.
"""

_MAY_MOVE = ("model", "data", "ledger", "analyst")
"""What may be given with --resume: where things are now, and who goes on."""

_NO_SETTING = (*_MAY_MOVE, "in_parts")


def add(commands: Commands) -> None:
    """Add the command."""
    sample = add_command(
        commands,
        "sample",
        summary="draw a posterior from a table, and write a report",
        description="Draw from the posterior of a model under differential privacy. "
        "What it will release and cost is shown, and asked for, before a record is "
        "read.",
        examples=_EXAMPLES,
    )
    add_job_options(sample, many_methods=False)
    ledger = sample.add_argument_group("ledger")
    complete_files(
        ledger.add_argument("--ledger", metavar="FILE|URL", help="the ledger to charge")
    )
    ledger.add_argument(
        "--data-set",
        dest="dataset",
        metavar="NAME",
        help="its name in the ledger, if that has several",
    )
    ledger.add_argument("--analyst", metavar="NAME", help="who asks; you by default")
    ledger.add_argument("--purpose", help="what it is for, in a few words")
    ledger.add_argument(
        "--only",
        action="store_true",
        default=None,
        help="spend the whole budget: no other run on this data set, ever",
    )
    complete_folders(
        sample.add_argument(
            "--out", required=True, metavar="DIR", help="folder to write"
        )
    )
    sample.add_argument(
        "--resume", action="store_true", help="go on with the run in --out"
    )
    sample.add_argument(
        "--distributed",
        dest="in_parts",
        action="store_true",
        default=None,
        help="one of several processes, as Slurm or Kubernetes started them",
    )
    sample.add_argument(
        "--streamed",
        action="store_true",
        default=None,
        help="read a Parquet table that does not fit into memory from disk, in blocks",
    )
    sample.add_argument("--yes", action="store_true", help="spend without asking")
    sample.add_argument(
        "--dry-run", action="store_true", help="show what it would cost, and stop"
    )
    sample.add_argument("--json", action="store_true", help="print the outcome as JSON")
    sample.set_defaults(run=_sample)


class _DryRunError(Exception):
    """Everything was checked, and nothing is to be spent."""


def _sample(chosen: argparse.Namespace) -> int:
    if chosen.in_parts and not _joined_first():
        return _follow()
    was_there = Path(chosen.out, "run.json").exists()
    with _interruptible() as pressed:
        try:
            outcome = _outcome(chosen)
        except InputError as problem:
            if was_there or not Path(chosen.out, "run.json").exists():
                raise  # nothing was begun
            return _ended(problem, chosen)
        except (_DryRunError, KeyboardInterrupt, NotUsableError, StoppedError) as end:
            return _ended(end, chosen)
    _tell(outcome, chosen.json)
    return _ended(KeyboardInterrupt(), chosen) if pressed else Code.DONE


def _joined_first() -> bool:
    """Join the processes of the job, and say whether this is the first."""
    from dpmcmc.processes import is_first, join  # noqa: PLC0415 - slow to import

    join()
    return is_first()


def _follow() -> int:
    """Take part in the run of the first process, which says what came of it."""
    from dpmcmc.workflow import follow  # noqa: PLC0415 - slow to import

    try:
        follow()
    except NotUsableError:
        return Code.NOT_USABLE
    except InputError as problem:
        print(filled(f"dpmcmc: {problem}"), file=sys.stderr)
        return Code.REFUSED
    except (StoppedError, RuntimeError) as problem:
        print(filled(f"dpmcmc: {problem.__cause__ or problem}"), file=sys.stderr)
        return Code.FAILED
    return Code.DONE


def _ended(end: BaseException, chosen: argparse.Namespace) -> int:
    """Say why a run ended early, what it has spent, and how to go on with it."""
    from dpmcmc.workflow import interrupted  # noqa: PLC0415 - slow to import

    code, said = Code.REFUSED, f"dpmcmc: {end}"
    if isinstance(end, _DryRunError):
        code, said = Code.DONE, "Dry run."
    elif isinstance(end, KeyboardInterrupt):
        code, said = Code.INTERRUPTED, "\ndpmcmc: interrupted."
    elif isinstance(end, StoppedError):
        cause = end.__cause__
        kind = "" if isinstance(cause, InputError) else f"{type(cause).__name__}: "
        code, said = Code.FAILED, f"dpmcmc: {kind}{cause}"
    if isinstance(end, NotUsableError):
        code = Code.NOT_USABLE
        then = f"What was released, and its cost, is in {chosen.out}/statement.txt."
    else:
        try:
            then = interrupted(chosen.out, ledger=chosen.ledger)
        except InputError:  # the ledger is what failed; it is known only what was kept
            then = f"What was released is kept in {chosen.out}."
    for line in f"{said} {then}".splitlines():
        print(filled(line), file=sys.stderr)
    return code


def _outcome(chosen: argparse.Namespace) -> "Outcome":
    from dpmcmc import workflow  # noqa: PLC0415 - slow to import

    def ask(question: "Question") -> None:
        if chosen.dry_run and chosen.json:
            show_json(_values(question))
        else:
            where = sys.stderr if chosen.json else sys.stdout
            print(_shown(question), file=where, flush=True)
        if chosen.dry_run:
            raise _DryRunError
        if not chosen.yes:
            confirm("Spend this?")

    progress = not chosen.json
    if not chosen.resume:
        job = job_of_options(chosen, ("model", "data", "delta"))
        return workflow.run(job, chosen.out, ask=ask, progress=progress)
    if settings := [name for name in given_options(chosen) if name not in _NO_SETTING]:
        raise InputError(
            "a run that goes on keeps its settings, but --resume came with "
            f"{', '.join(map(option, settings))}. Leave that out, or begin another "
            "run."
        )
    if chosen.dry_run:
        raise _DryRunError
    moved = {name: getattr(chosen, name) for name in _MAY_MOVE}
    return workflow.resume(chosen.out, ask=ask, progress=progress, **moved)


def _shown(question: "Question") -> str:
    """What is about to be released, stage by stage, and what it costs."""
    from dpmcmc.workflow import how_it_stands  # noqa: PLC0415 - slow to import

    statement = question.statement
    rows = [
        (stage.name, f"{stage.fraction:.0%}", stage.sentence)
        for stage in statement.stages
    ]
    lines = [
        f"About to be released, {statement.label} together, for any one of the "
        f"{statement.counted}:",
        "",
        *aligned([("stage", "cost", "what"), *rows], right=(1,), broken_at=(2,)),
        "",
        *(f"Prepared: {words}." for words in statement.prepared),
        *(f"Note: {note}" for note in statement.notes),
    ]
    if question.standing is not None:
        lines.append(
            f"{how_it_stands(question.standing)} This run reserves "
            f"{question.fraction:.2%} of it."
        )
    if question.seconds is not None:
        lines.append(_duration(question.seconds))
        if any(stage.name == "fit" for stage in statement.stages):
            lines.append("Much less if the fit finds that no decision is needed.")
    return "\n".join(filled(line) for line in lines)


def _values(question: "Question") -> dict[str, Any]:
    """The same for machines."""
    standing = question.standing
    return {
        "statement": json.loads(question.statement.to_json()),
        "ledger": None if standing is None else standing.to_dict(),
        "fraction": question.fraction,
        "seconds": question.seconds,
    }


def _duration(seconds: float) -> str:
    """A rough number of seconds in words."""
    for size, unit in ((86_400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= 0.95 * size:
            count = round(seconds / size)
            return (
                f"Time: about {count:,} {unit}{'s' * (count > 1)} on this machine, by "
                "a timing on made-up records. Half of it or twice as much is possible."
            )
    return "Time: less than a minute on this machine."


def _tell(outcome: "Outcome", as_json: bool) -> None:
    posterior, standing = outcome.posterior, outcome.standing
    if as_json:
        show_json(
            {
                "folder": str(outcome.folder),
                "report": str(outcome.report),
                "statement": json.loads(posterior.statement.to_json()),
                "titles": posterior.titles,
                "posterior": _numbers(posterior),
                "ledger": None if standing is None else standing.to_dict(),
            }
        )
        return
    print(f"\n{posterior}\n")
    if standing is not None:
        print(f"{standing}\n")
    print(f"Draws, statement and report are in {outcome.folder}.")


def _numbers(posterior: "Posterior") -> dict[str, dict[str, float | None]]:
    """The summary of each coordinate; JSON has no NaN."""
    return {
        str(title): {
            str(name): float(value) if math.isfinite(value) else None
            for name, value in row.items()
        }
        for title, row in posterior.summary().iterrows()
    }


@contextmanager
def _interruptible() -> Iterator[list[int]]:
    """Write down that Ctrl-C was pressed, and let it do what it does."""
    pressed: list[int] = []

    def handle(number: int, _: object) -> None:
        pressed.append(number)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)
