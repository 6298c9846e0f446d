# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""``dpmcmc ledger``: budgets of data sets, what was spent, and what is left."""

import argparse
import getpass
from typing import TYPE_CHECKING

from dpmcmc.cli.common import Commands, add_command, confirm, show_json
from dpmcmc.errors import InputError

if TYPE_CHECKING:
    from dpmcmc.ledger import Ledger, Overview

__all__ = ["add"]

_OK, _FOUND = 0, 1

_WIDTH = 50
"""Characters of the bar that stands for a budget."""

_EXAMPLES = """\
examples:
  dpmcmc ledger register study.db people --records 20000 --epsilon 3 --delta 1e-6 \\
      --spender ana --spender bo --note "decision 12 of the board"
  dpmcmc ledger show study.db
  dpmcmc ledger show study.db people --plot budget.png
  dpmcmc ledger verify study.db
  dpmcmc ledger release study.db 1f3a9c20
  dpmcmc ledger spenders study.db people --add cy --remove bo

A ledger is an SQLite file, or a PostgreSQL database by its URL
(postgresql://host/study). Entries are never changed, only added.
"""

_REGISTER = """\
example:
  dpmcmc ledger register study.db people --records 20000 --epsilon 3 --delta 1e-6 \\
      --spender ana --note "decision 12 of the board"
"""

_SHOW = """\
examples:
  dpmcmc ledger show study.db
  dpmcmc ledger show study.db people --plot budget.png
"""


def add(commands: Commands) -> None:
    """Add the command and its parts."""
    ledger = add_command(
        commands,
        "ledger",
        summary="register a data set's budget; see what is spent and left",
        description="Keep the budget of data sets, over many runs and people.",
        examples=_EXAMPLES,
    )
    parts = ledger.add_subparsers(required=True, metavar="ACTION", title="actions")
    _add_register(parts)
    _add_show(parts)
    _add_verify(parts)
    _add_release(parts)
    _add_spenders(parts)


def _add_register(parts: Commands) -> None:
    register = add_command(
        parts,
        "register",
        summary="settle the budget of a data set, once and for all",
        description="Register a data set: its number of records, which is public; the "
        "budget of all that is ever released from it; and who may spend it. The ledger "
        "is made if it is not there. A budget is never changed.",
        examples=_REGISTER,
    )
    _add_place(register)
    register.add_argument("dataset", metavar="NAME", help="what the data set is called")
    register.add_argument(
        "--records", type=int, required=True, metavar="N", help="how many it has"
    )
    register.add_argument("--epsilon", type=float, required=True, metavar="E")
    register.add_argument("--delta", type=float, required=True, metavar="D")
    register.add_argument(
        "--spender",
        action="append",
        metavar="NAME",
        help="who may spend it; may be repeated; you by default",
    )
    register.add_argument("--note", default="", help="such as who decided")
    register.set_defaults(run=_register)


def _add_show(parts: Commands) -> None:
    show = add_command(
        parts,
        "show",
        summary="what was spent, and what is left",
        description="Show each data set with its runs, and how much of its budget was "
        "spent, is reserved by open runs, and is left.",
        examples=_SHOW,
    )
    _add_place(show)
    show.add_argument("dataset", nargs="?", metavar="NAME", help="one data set of it")
    show.add_argument("--json", action="store_true", help="print it as JSON")
    show.add_argument("--plot", metavar="FILE", help="write a picture of one data set")
    show.set_defaults(run=_show)


def _add_verify(parts: Commands) -> None:
    verify = add_command(
        parts,
        "verify",
        summary="find any entry that was changed",
        description="Check every entry, hash and sum again, from nothing. The exit "
        "code is 1 if something is wrong. A head that was noted down elsewhere also "
        "finds that entries were cut off the end.",
        examples="example:\n  dpmcmc ledger verify study.db --head 5e3c…\n",
    )
    _add_place(verify)
    verify.add_argument(
        "--head", metavar="HASH", help="a hash that was noted down at any time before"
    )
    verify.add_argument("--json", action="store_true", help="print it as JSON")
    verify.set_defaults(run=_verify)


def _add_release(parts: Commands) -> None:
    release = add_command(
        parts,
        "release",
        summary="give back what a run that died holds and has not spent",
        description="Give back what a run holds and has not spent. What it was charged "
        "stays charged; if it is alive, it stops at its next part. It can be resumed "
        "while there is room.",
        examples="example:\n  dpmcmc ledger release study.db 1f3a9c20\n",
    )
    _add_place(release)
    release.add_argument("id", metavar="RUN", help="the run, as ledger show names it")
    release.add_argument("--yes", action="store_true", help="do not ask")
    release.set_defaults(run=_release)


def _add_spenders(parts: Commands) -> None:
    spenders = add_command(
        parts,
        "spenders",
        summary="change who may spend the budget of a data set",
        description="Change who may spend the budget of a data set, if you registered "
        "it. Open runs of those who are removed go on; release them to stop them.",
        examples="example:\n"
        "  dpmcmc ledger spenders study.db people --add cy --remove bo\n",
    )
    _add_place(spenders)
    spenders.add_argument("dataset", metavar="NAME", help="the data set")
    for option, meaning in (
        ("--add", "who may spend it from now on; may be repeated"),
        ("--remove", "who may not any more; may be repeated"),
    ):
        spenders.add_argument(
            option, action="append", default=[], metavar="NAME", help=meaning
        )
    spenders.set_defaults(run=_spenders)


def _add_place(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ledger", metavar="FILE|URL", help="where the ledger is")


def _open(place: str, *, create: bool = False) -> "Ledger":
    from dpmcmc.ledger import Ledger  # noqa: PLC0415 - slow to import

    return Ledger.open(place, create=create)


def _register(chosen: argparse.Namespace) -> int:
    with _open(chosen.ledger, create=True) as ledger:
        ledger.register(
            chosen.dataset,
            records=chosen.records,
            epsilon=chosen.epsilon,
            delta=chosen.delta,
            spenders=chosen.spender or [getpass.getuser()],
            note=chosen.note,
        )
        print(ledger.overview(chosen.dataset))
    return _OK


def _show(chosen: argparse.Namespace) -> int:
    with _open(chosen.ledger) as ledger:
        names = ledger.datasets() if chosen.dataset is None else (chosen.dataset,)
        views = [ledger.overview(name) for name in names]
    if chosen.json:
        show_json([view.to_dict() for view in views])
    else:
        shown = "\n\n".join(map(_with_bar, views))
        print(shown or "No data set is registered yet.")
    if chosen.plot is not None:
        from dpmcmc.report.ledgers import plot_ledger  # noqa: PLC0415 - slow to import

        plot_ledger(_one(views, chosen.ledger), chosen.plot)
    return _OK


def _with_bar(view: "Overview") -> str:
    """An overview, with a bar of characters that shows how the budget stands."""
    title, _, rest = str(view).partition("\n\n")
    spent = round(_WIDTH * view.spent)
    held = round(_WIDTH * (view.spent + view.reserved)) - spent
    left = _WIDTH - spent - held
    bar = "█" * spent + "▒" * held + "·" * left
    return f"{title}\n\n  [{bar}] █ spent ▒ reserved · left\n\n{rest}"


def _one(views: "list[Overview]", place: str) -> "Overview":
    if len(views) == 1:
        return views[0]
    raise InputError(
        f"{place} has {len(views)} data sets, and a picture shows one. Name it."
    )


def _verify(chosen: argparse.Namespace) -> int:
    with _open(chosen.ledger) as ledger:
        verdict = ledger.verify(chosen.head)
    if chosen.json:
        show_json({"head": verdict.head, "problems": list(verdict.problems)})
    else:
        print("\n".join(verdict.problems) or "Every entry is as it was written.")
        print(f"Head, to be noted down elsewhere: {verdict.head}")
    return _FOUND if verdict.problems else _OK


def _release(chosen: argparse.Namespace) -> int:
    with _open(chosen.ledger) as ledger:
        if not chosen.yes:
            confirm(f"Release run {chosen.id}? If it is alive, it stops.")
        ledger.release(chosen.id, getpass.getuser())
    print(f"Run {chosen.id} holds nothing any more; what it spent stays spent.")
    return _OK


def _spenders(chosen: argparse.Namespace) -> int:
    with _open(chosen.ledger) as ledger:
        ledger.change_spenders(chosen.dataset, add=chosen.add, remove=chosen.remove)
        allowed = ledger.overview(chosen.dataset).spenders
    print(f"The budget of {chosen.dataset} may be spent by {', '.join(allowed)}.")
    return _OK
