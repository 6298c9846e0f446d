# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""``dpmcmc reproduce``: the paper's figures."""

import argparse

from dpmcmc.cli.common import Commands, add_command

__all__ = ["add"]

_EXAMPLES = """\
examples:
  dpmcmc reproduce all --quick
  dpmcmc reproduce 2 3 --out figures
"""


def add(commands: Commands) -> None:
    """Add the command."""
    reproduce = add_command(
        commands,
        "reproduce",
        summary="make the paper's figures again",
        description="Draw figures of the paper into a folder: pictures, the numbers "
        "beneath them as CSV, and a summary. All records are simulated.",
        examples=_EXAMPLES,
    )
    reproduce.add_argument(
        "figures",
        nargs="+",
        metavar="FIGURE",
        help="1a, 1b, 1c, 2, 3, 4, 5, 6 (the last three in the supplement), or all",
    )
    reproduce.add_argument(
        "--quick", action="store_true", help="minutes: shorter chains, fewer fits"
    )
    reproduce.add_argument(
        "--out", metavar="DIR", default="reproduction", help="folder to write to"
    )
    reproduce.set_defaults(run=_reproduce)


def _reproduce(chosen: argparse.Namespace) -> int:
    from dpmcmc.experiments.reproduce import reproduce  # noqa: PLC0415 - slow to import

    print(reproduce(chosen.figures, chosen.out, quick=chosen.quick))
    print(f"Everything is in {chosen.out}/, this summary in summary.md.")
    return 0
