# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""``dpmcmc ledger``: budgets of data sets, what was spent, and what still fits."""

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from dpmcmc.cli.common import Code, Commands, add_command, confirm, show_json
from dpmcmc.errors import InputError

if TYPE_CHECKING:
    from dpmcmc.ledger import Ledger, Overview

__all__ = ["add"]

_WIDTH = 50
"""Characters of the bar that stands for a budget."""

_REGISTER = """\
  dpmcmc ledger register study.db people --records 20000 --epsilon 3 --delta 1e-6 \\
      --note "decision 12 of the board"
  dpmcmc ledger register study.db visits --records 5912 --unit person \\
      --rho 0.5 --delta 1e-6
"""
_SHOW = """\
  dpmcmc ledger show study.db
  dpmcmc ledger show study.db people --plot budget.png
"""
_FITS = "  dpmcmc ledger fits study.db people --delta 1e-6\n"
_VERIFY = "  dpmcmc ledger verify study.db --head 5e3c…\n"
_RELEASE = "  dpmcmc ledger release study.db 1f3a9c20\n"
_PLACES = """
A ledger is an SQLite file, or a PostgreSQL database by its URL
(postgresql://host/study). Entries are never changed, only added.
"""


def add(commands: Commands) -> None:
    """Add the command and its actions."""
    examples = (_REGISTER, _SHOW, _FITS, _VERIFY, _RELEASE, _PLACES)
    ledger = add_command(
        commands,
        "ledger",
        summary="register a data set's budget; see what is spent and what fits",
        description="Keep the budget of data sets, over many runs and people.",
        examples="".join(("examples:\n", *examples)),
    )
    actions = ledger.add_subparsers(required=True, metavar="ACTION", title="actions")

    def action(
        run: Callable[[argparse.Namespace], int],
        summary: str,
        description: str,
        example: str,
    ) -> argparse.ArgumentParser:
        parser = add_command(
            actions,
            run.__name__.removeprefix("_"),
            summary=summary,
            description=description,
            examples=f"example:\n{example}",
        )
        parser.add_argument("ledger", metavar="FILE|URL", help="where the ledger is")
        parser.set_defaults(run=run)
        return parser

    register = action(
        _register,
        "settle the budget of a data set, once and for all",
        "Register a data set: its number of records, which is public, and the budget "
        "of all that is ever released from it. The ledger is made if it is not there. "
        "A budget is never changed.",
        _REGISTER,
    )
    register.add_argument("dataset", metavar="NAME", help="what the data set is called")
    register.add_argument("--records", type=int, required=True, metavar="N")
    register.add_argument(
        "--unit",
        default="",
        metavar="COLUMN",
        help="the column of ids, if N counts units of records, such as persons",
    )
    budget = register.add_mutually_exclusive_group(required=True)
    budget.add_argument("--epsilon", type=float, metavar="E", help="ε at δ")
    budget.add_argument("--rho", type=float, metavar="R", help="ρ (zCDP)")
    budget.add_argument("--mu", type=float, metavar="M", help="μ (GDP)")
    register.add_argument("--delta", type=float, required=True, metavar="D")
    register.add_argument("--note", default="", help="such as who decided")
    show = action(
        _show,
        "what was spent, what is left, and what still fits",
        "Show each data set with its runs: how much of its budget was spent, is "
        "reserved by open runs, and is left; and the ε of one more run that fits.",
        _SHOW,
    )
    show.add_argument("--plot", metavar="FILE", help="write a picture of one data set")
    fits = action(
        _fits,
        "the largest ε of one more run that the budget allows",
        "Print the largest ε of one more run that fits what is left, rounded down.",
        _FITS,
    )
    for parser in (show, fits):
        parser.add_argument("dataset", nargs="?", metavar="NAME", help="one data set")
        parser.add_argument(
            "--delta", type=float, metavar="D", help="of that run; else the budget's"
        )
    verify = action(
        _verify,
        "find any entry that was changed",
        "Check every entry, hash and sum again, from nothing. The exit code is 1 if "
        "something is wrong. A head that was kept elsewhere also finds that entries "
        "were cut off the end.",
        _VERIFY,
    )
    verify.add_argument("--head", metavar="HASH", help="a head of any time before")
    for parser in (show, fits, verify):
        parser.add_argument("--json", action="store_true", help="print it as JSON")
    release = action(
        _release,
        "give back what a run that died holds and has not spent",
        "Give back what a run holds and has not spent. What it was charged stays "
        "charged; if it is alive, it stops at its next part. It can be resumed while "
        "there is room.",
        _RELEASE,
    )
    release.add_argument("id", metavar="RUN", help="the run, as ledger show names it")
    release.add_argument("--yes", action="store_true", help="do not ask")


def _open(place: str, *, create: bool = False) -> "Ledger":
    from dpmcmc.ledger import Ledger  # noqa: PLC0415 - slow to import

    return Ledger.open(place, create=create)


def _register(chosen: argparse.Namespace) -> int:
    with _open(chosen.ledger, create=True) as ledger:
        ledger.register(
            chosen.dataset,
            records=chosen.records,
            unit=chosen.unit,
            epsilon=chosen.epsilon,
            rho=chosen.rho,
            mu=chosen.mu,
            delta=chosen.delta,
            note=chosen.note,
        )
        print(ledger.overview(chosen.dataset))
    return Code.DONE


def _views(chosen: argparse.Namespace) -> "list[Overview]":
    with _open(chosen.ledger) as ledger:
        names = ledger.datasets() if chosen.dataset is None else (chosen.dataset,)
        return [ledger.overview(name, chosen.delta) for name in names]


def _show(chosen: argparse.Namespace) -> int:
    views = _views(chosen)
    if chosen.json:
        show_json([view.to_dict() for view in views])
    else:
        shown = "\n\n".join(map(_with_bar, views))
        print(shown or "No data set is registered yet.")
    if chosen.plot is not None:
        from dpmcmc.report import plot_budget  # noqa: PLC0415 - slow to import
        from dpmcmc.workflow import budget_of  # noqa: PLC0415 - slow to import

        if len(views) != 1:
            raise InputError(
                f"{chosen.ledger} has {len(views)} data sets, and a picture shows one. "
                "Name it."
            )
        plot_budget(budget_of(views[0]), chosen.plot)
    return Code.DONE


def _with_bar(view: "Overview") -> str:
    """An overview, with a bar of characters that shows how the budget stands."""
    title, _, rest = str(view).partition("\n\n")
    spent = round(_WIDTH * view.spent)
    held = round(_WIDTH * (view.spent + view.reserved)) - spent
    bar = "█" * spent + "▒" * held + "·" * (_WIDTH - spent - held)
    return f"{title}\n\n  [{bar}] █ spent ▒ reserved · left\n\n{rest}"


def _fits(chosen: argparse.Namespace) -> int:
    views = _views(chosen)
    keys = ("dataset", "fits", "fits_delta", "fits_rho", "fits_mu")
    if chosen.json:
        show_json([{key: getattr(view, key) for key in keys} for view in views])
        return Code.DONE
    for view in views:
        print(
            f"{view.dataset}: ε = {view.fits:g} at δ = {view.fits_delta:g} "
            f"(ρ = {view.fits_rho:g}, μ = {view.fits_mu:g})"
        )
    return Code.DONE


def _verify(chosen: argparse.Namespace) -> int:
    with _open(chosen.ledger) as ledger:
        verdict = ledger.verify(chosen.head)
    if chosen.json:
        keys = ("head", "problems", "notes")
        show_json({key: getattr(verdict, key) for key in keys})
    else:
        print(verdict)
    return Code.DONE if verdict.ok else Code.FAILED


def _release(chosen: argparse.Namespace) -> int:
    with _open(chosen.ledger) as ledger:
        if not chosen.yes:
            confirm(f"Release run {chosen.id}? If it is alive, it stops.")
        ledger.release(chosen.id)
    print(f"Run {chosen.id} holds nothing any more; what it spent stays spent.")
    return Code.DONE
