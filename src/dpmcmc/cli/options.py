# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Options that say what a job is: its model, table, budget and method."""

import argparse
from collections.abc import Iterable
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from dpmcmc.cli.common import complete_files
from dpmcmc.errors import InputError

if TYPE_CHECKING:
    from dpmcmc.workflow import Job

__all__ = [
    "METHODS",
    "add_job_options",
    "given_options",
    "job_of_options",
    "option",
]

METHODS = (
    "control-variates",
    "sufficient-statistics",
    "barker",
    "gaussian-barker",
    "minibatch-barker",
)


def add_job_options(parser: argparse.ArgumentParser, *, many_methods: bool) -> None:
    """Add the options that `Job` has a field for, but those of a ledger."""
    model = parser.add_argument(
        "model",
        nargs="?",
        metavar="MODEL",
        help="a Python file and a name in it (model.py:model), or a formula "
        "('ill ~ age + (1 | clinic)')",
    )
    complete_files(model)
    parser.add_argument(
        "--family",
        metavar="FAMILY",
        help="of a formula: gaussian, bernoulli, poisson, …; default: gaussian",
    )
    table = parser.add_argument_group("table")
    complete_files(
        table.add_argument("--data", metavar="FILE", help=".parquet, .csv, .arrow, …")
    )
    table.add_argument(
        "--columns",
        type=_list,
        metavar="A,B",
        help="columns to read; unless given, what the model takes, the schema or all",
    )
    table.add_argument(
        "--schema",
        metavar="FILE",
        help="types, bounds and levels of columns; dpmcmc schema writes a template",
    )
    table.add_argument(
        "--unit",
        metavar="COLUMN",
        help="a column of ids: all records with one id are protected together",
    )
    table.add_argument(
        "--most", type=int, metavar="K", help="records of a unit that count: the first"
    )
    budget = parser.add_argument_group("budget")
    budget.add_argument("--epsilon", type=float, metavar="E", help="ε of the run")
    budget.add_argument("--delta", type=float, metavar="D", help="δ of the run")
    budget.add_argument("--rho", type=float, metavar="R", help="ρ (zCDP) in place of ε")
    budget.add_argument("--mu", type=float, metavar="M", help="μ (GDP) in place of ε")
    method = parser.add_argument_group("method")
    method.add_argument(
        "--method",
        choices=METHODS,
        action="append" if many_methods else "store",
        metavar="METHOD",
        help=f"{', '.join(METHODS)}; default: the first, or the second for a model "
        "that states a few exact ones" + many_methods * "; may be repeated, to compare",
    )
    for name, kind, metavar, words in (
        ("clip", float, "B", "bound on a record's log-likelihood ratio in a step"),
        ("batch", int, "b", "records that a step reads"),
        ("scale", float, "S", "scale of the first moves of an adaptive random walk"),
        ("tempering", float, "N0", "records that the likelihood counts for"),
        ("steps", int, "T", "steps of each chain"),
        ("chains", int, "K", "number of chains"),
        ("warmup", int, "W", "steps that summaries leave out"),
    ):
        method.add_argument(f"--{name}", type=kind, metavar=metavar, help=words)
    method.add_argument("--start", choices=("prior",), help="start at prior draws")
    method.add_argument("--precision", choices=("float32", "float64"))


def job_of_options(chosen: argparse.Namespace, needed: Iterable[str]) -> "Job":
    """The job that options say.

    Raises
    ------
    InputError
        If one of the ``needed`` is missing.
    """
    from dpmcmc.workflow import Job  # noqa: PLC0415 - slow to import

    for name in needed:
        if getattr(chosen, name) is None:
            raise InputError(f"{option(name)} is missing. --help has examples.")
    return Job(**{"data": None, "epsilon": None, **given_options(chosen)})


def given_options(chosen: argparse.Namespace) -> dict[str, Any]:
    """The options that were given and that `Job` has a field for, by its name."""
    from dpmcmc.workflow import Job  # noqa: PLC0415 - slow to import

    names = [one.name for one in fields(Job)]
    found = {name: getattr(chosen, name, None) for name in names}
    return {name: value for name, value in found.items() if value is not None}


def option(name: str) -> str:
    """What a field of `Job` is called at the command line."""
    names = {
        "model": "MODEL",
        "dataset": "--data-set",
        "in_parts": "--distributed",
    }
    return names.get(name, f"--{name}")


def _list(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))
