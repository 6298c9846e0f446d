# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""``dpmcmc demo``: the paper's posterior, privately and beside it not."""

import argparse

from dpmcmc.cli.common import Commands, add_command

__all__ = ["add"]

_EXAMPLES = """\
examples:
  dpmcmc demo
  dpmcmc demo --records 100000 --out here
"""


def add(commands: Commands) -> None:
    """Add the command."""
    demo = add_command(
        commands,
        "demo",
        summary="draw a posterior of simulated records, in about a minute",
        description="Simulate the paper's mixture, draw its posterior privately, and "
        "beside it by a chain that is not private; write draws and a picture.",
        examples=_EXAMPLES,
    )
    demo.add_argument(
        "--records",
        type=int,
        default=1_000_000,
        metavar="N",
        help="how many to simulate; a million unless given",
    )
    demo.add_argument(
        "--out",
        default="demo-output",
        metavar="DIR",
        help="where draws and picture go; demo-output unless given",
    )
    demo.set_defaults(run=_demo)


def _demo(chosen: argparse.Namespace) -> int:
    from dpmcmc.experiments.demo import main  # noqa: PLC0415 - slow to import

    main(["--records", str(chosen.records), "--out", chosen.out])
    return 0
