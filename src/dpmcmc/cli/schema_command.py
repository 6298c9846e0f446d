# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""``dpmcmc schema``: a template for what is known of a table."""

import argparse
from pathlib import Path

from dpmcmc.cli.common import Code, Commands, add_command
from dpmcmc.errors import InputError

__all__ = ["add"]

_EXAMPLES = """\
examples:
  dpmcmc schema people.csv --out schema.yaml

Fill in types, bounds and levels from the questionnaire, not from the table. Then:
  dpmcmc sample model.py:model --data people.csv --schema schema.yaml …
"""


def add(commands: Commands) -> None:
    """Add the command."""
    schema = add_command(
        commands,
        "schema",
        summary="write a template for what is known of a table",
        description="Write the columns of a data file as YAML, to be filled in. Of a "
        "text file the first line is read, which must name the columns; of others the "
        "names and types. No record is read.",
        examples=_EXAMPLES,
    )
    schema.add_argument("data", metavar="FILE", help=".parquet, .csv, .arrow, …")
    schema.add_argument(
        "--out", metavar="FILE", help="a new file to write; printed unless given"
    )
    schema.set_defaults(run=_schema)


def _schema(chosen: argparse.Namespace) -> int:
    from dpmcmc.files import schema_template  # noqa: PLC0415 - slow to import
    from dpmcmc.files.writing import write_safely  # noqa: PLC0415 - slow to import

    text = schema_template(chosen.data)
    if chosen.out is None:
        print(text, end="")
        return Code.DONE
    place = Path(chosen.out)
    if place.exists():
        raise InputError(f"there is a file {place}. Remove it, or name another.")
    write_safely(place, text.encode())
    print(f"The template is in {place}. Fill it in from the questionnaire.")
    return Code.DONE
