# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""After a run: ``dpmcmc draws``, ``dpmcmc predict`` and ``dpmcmc synthesize``.

They read what was released, never a record, and cost nothing.
"""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpmcmc.cli.common import (
    Code,
    Commands,
    add_command,
    complete_files,
    complete_folders,
    show_json,
)
from dpmcmc.errors import InputError

if TYPE_CHECKING:
    from dpmcmc.posterior import Posterior

__all__ = ["add"]

_DRAWS = """\
examples:
  dpmcmc draws run --out draws.csv
  dpmcmc draws run --out draws.parquet

In R: posterior::as_draws_df(read.csv("draws.csv", check.names = FALSE))
"""
_PREDICT = """\
examples:
  dpmcmc predict run --rows new.csv
  dpmcmc predict run --rows new.csv --responses --out predictions.parquet
"""
_SYNTHESIZE = """\
examples:
  dpmcmc synthesize run --size 10000 --covariates public.csv --out synthetic.csv
  dpmcmc synthesize run --size 10000 --tables 5 --out synthetic.parquet
"""


def add(commands: Commands) -> None:
    """Add the commands."""
    draws = _command(
        commands, "draws", "write the draws of a run as a table", _DRAWS, "for others"
    )
    _add_out(draws, required=True)
    draws.set_defaults(run=_draws)
    predict = _command(
        commands,
        "predict",
        "predict the response for new rows, from a run of a formula",
        _PREDICT,
        "with intervals",
    )
    complete_files(
        predict.add_argument(
            "--rows", required=True, metavar="FILE", help="public rows: .csv, .parquet"
        )
    )
    predict.add_argument(
        "--responses",
        action="store_true",
        help="single responses instead of their means",
    )
    predict.add_argument("--json", action="store_true", help="print it as JSON")
    _add_out(predict, required=False)
    predict.set_defaults(run=_predict)
    synthesize = _command(
        commands,
        "synthesize",
        "make synthetic tables, from a run of a formula",
        _SYNTHESIZE,
        "with covariates of a public table, or even within declared bounds",
    )
    synthesize.add_argument(
        "--size", type=int, required=True, metavar="N", help="rows of a table"
    )
    synthesize.add_argument(
        "--tables", type=int, default=1, metavar="M", help="how many tables; 1"
    )
    complete_files(
        synthesize.add_argument(
            "--covariates", metavar="FILE", help="a public table to draw rows of"
        )
    )
    _add_out(synthesize, required=True)
    synthesize.set_defaults(run=_synthesize)


def _command(
    commands: Commands, name: str, summary: str, examples: str, more: str
) -> argparse.ArgumentParser:
    parser = add_command(
        commands,
        name,
        summary=summary,
        description=f"{summary[0].upper()}{summary[1:]}, {more}. It reads what was "
        "released, never a record, and costs nothing. The privacy statement goes "
        "along with every file.",
        examples=examples,
    )
    complete_folders(
        parser.add_argument("folder", metavar="DIR", help="the folder of the run")
    )
    return parser


def _add_out(parser: argparse.ArgumentParser, *, required: bool) -> None:
    complete_files(
        parser.add_argument(
            "--out", required=required, metavar="FILE", help=".csv or .parquet"
        )
    )


def _draws(chosen: argparse.Namespace) -> int:
    table = _posterior(chosen).to_table(chosen.out)
    print(f"{len(table):,} draws are in {chosen.out}, with their statement beside it.")
    return Code.DONE


def _predict(chosen: argparse.Namespace) -> int:
    posterior, rows = _posterior(chosen), _table(chosen.rows)
    ask = posterior.predictive if chosen.responses else posterior.predict
    made = ask(rows)
    if chosen.out is not None:
        made.save(chosen.out)
    if chosen.json:
        statement = json.loads(made.statement.to_json())
        rows = json.loads(made.table().to_json(orient="records"))
        show_json({"statement": statement, "rows": rows})
    elif chosen.out is not None:
        print(f"Predictions for {len(made.rows):,} rows are in {chosen.out}.")
    else:
        print(made)
    return Code.DONE


def _synthesize(chosen: argparse.Namespace) -> int:
    covariates = None if chosen.covariates is None else _table(chosen.covariates)
    made = _posterior(chosen).synthesize(
        chosen.size, covariates=covariates, tables=chosen.tables
    )
    for place in made.save(chosen.out):
        print(f"{chosen.size:,} synthetic rows are in {place}.")
    print(f"Covariates: {made.covariates}. They are {made.statement.label}.")
    return Code.DONE


def _posterior(chosen: argparse.Namespace) -> "Posterior":
    from dpmcmc.files import RunFolder  # noqa: PLC0415 - slow to import

    return RunFolder.open(chosen.folder).posterior()


def _table(path: str) -> Any:
    """A public table, which is read as it is."""
    import pandas as pd  # noqa: PLC0415 - slow to import

    read = {".csv": pd.read_csv, ".parquet": pd.read_parquet}.get(Path(path).suffix)
    if read is None:
        raise InputError(f"{path} must end in .csv or .parquet. Rename it.")
    try:
        return read(path)
    except Exception as problem:  # of many kinds; the file is public
        raise InputError(f"{path} cannot be read: {problem}.") from None
