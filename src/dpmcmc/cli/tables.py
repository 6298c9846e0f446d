# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Options that say which columns of a data file are read, and within which bounds."""

import argparse

from dpmcmc.cli.common import pairs
from dpmcmc.errors import InputError

__all__ = ["add_table_options", "bounds_of", "columns_of", "levels_of"]


def add_table_options(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """Add the options of a data file."""
    table = parser.add_argument_group("table")
    table.add_argument(
        "--data", required=required, metavar="FILE", help=".parquet, .csv, .arrow, …"
    )
    table.add_argument(
        "--columns",
        metavar="A,B",
        help="columns to read; all, or what the model takes; text files need them",
    )
    table.add_argument(
        "--bounds",
        action="append",
        metavar="NAME=LOW:HIGH",
        help="public bounds: values outside are moved to the nearer; may be repeated",
    )
    table.add_argument(
        "--levels",
        action="append",
        metavar="NAME=A,B",
        help="the values that a column of text may have; may be repeated",
    )


def columns_of(chosen: argparse.Namespace) -> tuple[str, ...] | None:
    """The columns to read, if they were named."""
    return None if chosen.columns is None else tuple(chosen.columns.split(","))


def levels_of(chosen: argparse.Namespace) -> dict[str, tuple[str, ...]]:
    """The values that columns of text may have."""
    given = pairs("--levels", chosen.levels)
    return {name: tuple(values.split(",")) for name, values in given.items()}


def bounds_of(chosen: argparse.Namespace) -> dict[str, tuple[float, float]]:
    """Public bounds, by column."""
    return {
        name: _range(name, given)
        for name, given in pairs("--bounds", chosen.bounds).items()
    }


def _range(name: str, given: str) -> tuple[float, float]:
    low, _, high = given.partition(":")
    try:
        return float(low), float(high)
    except ValueError:
        raise InputError(
            f"--bounds is {name}={given}; it must be two numbers, as {name}=0:120."
        ) from None
