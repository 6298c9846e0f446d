# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""``dpmcmc audit``: attack every stage that reads records, and see what holds."""

import argparse
from pathlib import Path

from dpmcmc.cli.common import Code, Commands, add_command, show_json

__all__ = ["add"]

_EXAMPLES = """\
examples:
  Two minutes: does any certificate break on this machine?
    dpmcmc audit --quick

  A quarter of an hour, with a picture:
    dpmcmc audit --picture audit.png

No records are needed: attacks make their own. An alarm ends with exit code 1.
"""


def add(commands: Commands) -> None:
    """Add the command."""
    audit = add_command(
        commands,
        "audit",
        summary="attack every stage that reads records",
        description="Run the true code on pairs of tables that differ in one record, "
        "thousands to millions of times, and print how much of the certified ε the "
        "best attacks reach.",
        examples=_EXAMPLES,
    )
    audit.add_argument(
        "--quick", action="store_true", help="two minutes, not a quarter of an hour"
    )
    audit.add_argument(
        "--only",
        metavar="GROUP",
        action="append",
        help="only these attacks: full-data, batches, methods, releases, protection, "
        "randomness, adaptive, composed, default-run or outside; may be given several "
        "times",
    )
    audit.add_argument(
        "--picture", type=Path, metavar="FILE", help="write a picture, too"
    )
    audit.add_argument(
        "--json", action="store_true", help="print JSON instead of a table"
    )
    audit.set_defaults(run=_audit)


def _audit(chosen: argparse.Namespace) -> int:
    from dpmcmc.audit import Size, audit, plot_audit  # noqa: PLC0415 - slow to import

    size = Size.QUICK if chosen.quick else Size.WHOLE
    found = audit(size, groups=chosen.only, progress=not chosen.json)
    if chosen.picture is not None:
        plot_audit(found, chosen.picture)
    if chosen.json:
        show_json(found.to_dict())
    else:
        print(found)
    return Code.DONE if found.passed else Code.FAILED
