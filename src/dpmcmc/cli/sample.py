# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""``dpmcmc sample``: draws, statement and report of a table."""

import argparse
import json
import signal
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpmcmc.cli.common import Commands, add_command, confirm, show_json
from dpmcmc.cli.tables import add_table_options, bounds_of, columns_of, levels_of
from dpmcmc.errors import InputError

if TYPE_CHECKING:
    from dpmcmc.workflow import Job, Outcome, Question

__all__ = ["add"]

_OK, _STOPPED, _INTERRUPTED = 0, 2, 130

_EXAMPLES = """\
examples:
  The run chooses for itself, and a ledger is charged:
    dpmcmc sample model.py:model --data people.parquet --epsilon 1 --delta 1e-6 \\
        --ledger study.db --data-set people --out run

  See what it would cost, and spend nothing:
    dpmcmc sample model.py:model --data people.parquet --epsilon 1 --delta 1e-6 \\
        --out run --dry-run

  Tell it how to go:
    dpmcmc sample model.py:model --data people.csv --columns age,ill \\
        --bounds age=0:120 --epsilon 1 --delta 1e-6 --clip 0.01 --scale 0.1 --out run

  Go on with a run that was broken off, with the settings that it has:
    dpmcmc sample --resume --out run

The folder then holds posterior.nc (which ArviZ reads), statement.txt, report.html. A
run that is interrupted keeps what it made; what it was charged stays charged.
"""


def add(commands: Commands) -> None:
    """Add the command."""
    sample = add_command(
        commands,
        "sample",
        summary="draw a posterior from a table, and write a report",
        description="Draw from the posterior of a model under differential privacy. "
        "What it will cost is shown, and asked for, before a record is looked at.",
        examples=_EXAMPLES,
    )
    sample.add_argument(
        "model", nargs="?", metavar="FILE:NAME", help="a Python file and a name in it"
    )
    sample.add_argument("--out", required=True, metavar="DIR", help="folder to write")
    add_table_options(sample, required=False)
    budget = sample.add_argument_group("budget")
    budget.add_argument("--epsilon", type=float, metavar="E", help="ε of the run")
    budget.add_argument("--delta", type=float, metavar="D", help="δ of the run")
    budget.add_argument("--ledger", metavar="FILE|URL", help="the ledger to charge")
    budget.add_argument(
        "--data-set",
        dest="dataset",
        metavar="NAME",
        help="its name in the ledger, if that has several",
    )
    budget.add_argument("--analyst", metavar="NAME", help="who asks; you by default")
    budget.add_argument("--purpose", help="what it is for, in a few words")
    budget.add_argument(
        "--only",
        action="store_true",
        help="spend the whole budget: no other run on this data set, ever",
    )
    how = sample.add_argument_group("how to go (chosen for you if none is given)")
    how.add_argument("--clip", type=float, metavar="B", help="bound of a record")
    how.add_argument("--steps", type=int, metavar="T", help="steps of each chain")
    how.add_argument("--scale", type=float, metavar="S", help="of the first moves")
    how.add_argument("--batch", type=int, metavar="b", help="records that a step reads")
    how.add_argument("--tempering", type=float, metavar="N0", help="records to count")
    how.add_argument("--start", choices=("prior", "variational"), help="where to start")
    how.add_argument(
        "--chains", type=int, metavar="K", help="how many; 1 unless chosen"
    )
    how.add_argument("--warmup", type=int, metavar="W", help="steps to leave out")
    how.add_argument("--precision", choices=("float32", "float64"))
    how.add_argument("--chunk", type=int, help="steps that are charged at a time")
    sample.add_argument(
        "--resume", action="store_true", help="go on with the run in --out"
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
    from dpmcmc import workflow  # noqa: PLC0415 - slow to import

    def ask(question: "Question") -> None:
        if chosen.dry_run and chosen.json:
            show_json(_values(question))
        else:
            where = sys.stderr if chosen.json else sys.stdout
            print(_plan(question), file=where, flush=True)
        if chosen.dry_run:
            raise _DryRunError
        if not chosen.yes:
            confirm("Spend this?")

    progress = sys.stderr.isatty() and not chosen.json
    was_there = (Path(chosen.out) / "run.json").exists()
    with _interruptible() as interrupted:
        try:
            if chosen.resume:
                _require_no_settings(chosen)
                if chosen.dry_run:
                    return _tell_broken("Dry run.", chosen, _OK)
                elsewhere = {name: getattr(chosen, name) for name in _MAY_MOVE}
                outcome = workflow.resume(
                    chosen.out, ask=ask, progress=progress, **elsewhere
                )
            else:
                job = _job(chosen)
                outcome = workflow.run(job, chosen.out, ask=ask, progress=progress)
        except _DryRunError:
            print("Dry run: nothing was spent.", file=sys.stderr)
            return _OK
        except KeyboardInterrupt:
            return _tell_broken("\ndpmcmc: interrupted.", chosen, _INTERRUPTED)
        except InputError as problem:
            if was_there or not Path(chosen.out, "run.json").exists():
                raise  # nothing was begun
            return _tell_broken(f"dpmcmc: {problem}", chosen, _STOPPED)
    _tell(outcome, chosen.json)
    if interrupted:
        return _tell_broken("\ndpmcmc: interrupted.", chosen, _INTERRUPTED)
    return _OK


def _tell_broken(first: str, chosen: argparse.Namespace, code: int) -> int:
    """Say what a run that was broken off has spent, and how to go on with it."""
    from dpmcmc.workflow import broken_off  # noqa: PLC0415 - slow to import

    try:
        said = broken_off(chosen.out, ledger=chosen.ledger)
    except InputError:  # the ledger is what failed; it is known only what was kept
        said = f"What was made is kept in {chosen.out}."
    for line in f"{first} {said}".splitlines():
        print(textwrap.fill(line, 88, subsequent_indent="  "), file=sys.stderr)
    return code


_MAY_MOVE = ("model", "data", "ledger", "analyst")
"""What may be given with --resume: where things are now, and who goes on."""

_SETTINGS = (
    *("epsilon", "delta", "dataset", "purpose", "columns", "bounds", "levels"),
    *("clip", "steps", "scale", "batch", "tempering", "start", "chains", "warmup"),
    *("precision", "chunk"),
)

_OPTIONS = {"dataset": "data-set"}


def _require_no_settings(chosen: argparse.Namespace) -> None:
    given = [name for name in _SETTINGS if getattr(chosen, name) is not None]
    if chosen.only:
        given.append("only")
    if given:
        options = ", ".join("--" + _OPTIONS.get(name, name) for name in given)
        raise InputError(
            f"a run that goes on keeps its settings, but --resume came with {options}. "
            "Leave that out, or begin another run."
        )


def _job(chosen: argparse.Namespace) -> "Job":
    from dpmcmc.workflow import Job  # noqa: PLC0415 - slow to import

    for name, option in (
        ("model", "FILE:NAME"),
        ("data", "--data"),
        ("delta", "--delta"),
    ):
        if getattr(chosen, name) is None:
            raise InputError(
                f"{option} is missing. A new run needs a model, --data and --delta; "
                "--resume takes them from the folder."
            )
    same = (
        "model data epsilon delta clip steps scale batch tempering start warmup "
        "precision chunk chains ledger dataset analyst only"
    )
    told: dict[str, Any] = {name: getattr(chosen, name) for name in same.split()}
    return Job(
        **told,
        purpose=chosen.purpose or "",
        columns=columns_of(chosen),
        levels=levels_of(chosen),
        bounds=bounds_of(chosen),
    )


def _plan(question: "Question") -> str:
    """What is about to be released, in words."""
    from dpmcmc.workflow import how_it_stands  # noqa: PLC0415 - slow to import

    title = "About to be released:"
    if question.ways > 1:
        title = (
            f"A start is found privately; there, one of {question.ways} ways to go on "
            "is chosen on\nsimulated records, and how many chains share its steps. All "
            "cost about the same;\nthe costliest would be:"
        )
    lines = [
        textwrap.fill(line, 88, initial_indent="  ", subsequent_indent="    ")
        for line in question.statement.text.splitlines()
    ]
    if question.standing is not None and question.share is not None:
        budget = f"{how_it_stands(question.standing)} This run sets aside "
        lines += ["", textwrap.fill(f"{budget}{question.share:.2%} of it.", 88)]
    return "\n".join([title, *lines, ""])


def _values(question: "Question") -> dict[str, Any]:
    """The same for machines."""
    standing = question.standing
    return {
        "statement": json.loads(question.statement.to_json()),
        "ways": question.ways,
        "ledger": None if standing is None else standing.to_dict(),
        "share": question.share,
    }


def _tell(outcome: "Outcome", as_json: bool) -> None:
    posterior = outcome.posterior
    if as_json:
        show_json(
            {
                "folder": str(outcome.folder),
                "report": str(outcome.report),
                "statement": json.loads(posterior.statement.to_json()),
                "labels": posterior.labels,
                "ledger": None
                if outcome.standing is None
                else outcome.standing.to_dict(),
            }
        )
        return
    print(f"\n{posterior}\n")
    if outcome.standing is not None:
        print(f"{outcome.standing}\n")
    print(
        f"Draws, statement and report are in {outcome.folder}: open {outcome.report}."
    )


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
