# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What all commands share: how they are added, and how they ask and answer."""

import argparse
import json
import sys
import textwrap
from typing import Any

from dpmcmc.errors import InputError

__all__ = ["Commands", "DeclinedError", "add_command", "confirm", "pairs", "show_json"]

Commands = Any
"""Where commands are added: what ``ArgumentParser.add_subparsers`` returns."""


class DeclinedError(InputError):
    """A person was asked, and said no."""


def add_command(
    commands: Commands, name: str, *, summary: str, description: str, examples: str
) -> argparse.ArgumentParser:
    """Add a command whose help ends with examples."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=textwrap.fill(description, 80),
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    return parser


def confirm(question: str) -> None:
    """Ask, and go on only after a yes.

    Raises
    ------
    DeclinedError
        After anything else, or where nobody can be asked.
    """
    if not sys.stdin.isatty():
        raise DeclinedError(
            "nobody is there to be asked, and nothing was done. Give --yes to go on "
            "without asking."
        )
    # not on the standard output, which may be read by a machine
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise DeclinedError("declined, and nothing was done.")


def pairs(option: str, given: list[str] | None) -> dict[str, str]:
    """Read values of the form ``name=value``."""
    found = {}
    for one in given or []:
        name, equals, value = one.partition("=")
        if not name or not equals or not value:
            raise InputError(
                f"{option} is {one!r}; it must be a name and a value, as name=value."
            )
        found[name] = value
    return found


def show_json(values: Any) -> None:
    """Print values for machines."""
    print(json.dumps(values, indent=2, ensure_ascii=False))
