# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What all commands share: how they are added, ask, answer and end."""

import argparse
import json
import sys
import textwrap
from enum import IntEnum
from typing import Any

from dpmcmc.errors import InputError

__all__ = [
    "Code",
    "Commands",
    "DeclinedError",
    "add_command",
    "complete_files",
    "complete_folders",
    "confirm",
    "show_json",
]

Commands = Any
"""Where commands are added: what ``ArgumentParser.add_subparsers`` returns."""


class Code(IntEnum):
    """Exit codes."""

    DONE = 0
    FAILED = 1
    REFUSED = 2
    NOT_USABLE = 3
    INTERRUPTED = 130


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


def complete_files(argument: argparse.Action) -> None:
    """Let the shell complete names of files; shtab reads this."""
    names = {"bash": "_shtab_compgen_files", "zsh": "_files", "tcsh": "f"}
    argument.complete = names  # type: ignore[attr-defined]


def complete_folders(argument: argparse.Action) -> None:
    """Let the shell complete names of folders."""
    names = {"bash": "_shtab_compgen_dirs", "zsh": "_files -/", "tcsh": "d"}
    argument.complete = names  # type: ignore[attr-defined]


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


def show_json(values: Any) -> None:
    """Print values for machines."""
    print(json.dumps(values, indent=2, ensure_ascii=False))
