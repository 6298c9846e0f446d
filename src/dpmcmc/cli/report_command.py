# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""``dpmcmc report``: the page of a finished run."""

import argparse

from dpmcmc.cli.common import Code, Commands, add_command, complete_folders

__all__ = ["add"]

_EXAMPLES = """\
examples:
  dpmcmc report run
  dpmcmc report run --title "Income and age, 2026"
  dpmcmc report run --registry deployment.yaml
"""


def add(commands: Commands) -> None:
    """Add the command."""
    report = add_command(
        commands,
        "report",
        summary="write the report of a run anew",
        description="Write report.html into the folder of a run: one page that needs "
        "no network, for readers who are not programmers. It reads what was released, "
        "and the ledger if the run has one; never a record.",
        examples=_EXAMPLES,
    )
    complete_folders(
        report.add_argument("folder", metavar="DIR", help="the folder of the run")
    )
    report.add_argument("--title", default="", help="the title of the page")
    report.add_argument(
        "--ledger", metavar="FILE|URL", help="where the ledger is now, if it moved"
    )
    report.add_argument(
        "--registry",
        metavar="FILE",
        help="write what NIST SP 800-226 and the registry of deployments ask, as JSON "
        "or YAML, instead of the page",
    )
    report.set_defaults(run=_report)


def _report(chosen: argparse.Namespace) -> int:
    from dpmcmc.workflow import report, write_filing  # noqa: PLC0415 - slow to import

    if chosen.registry is not None:
        place = write_filing(chosen.folder, chosen.registry, title=chosen.title)
        print(f"What others ask is in {place}. Fill in what is empty.")
        return Code.DONE
    page = report(chosen.folder, title=chosen.title, ledger=chosen.ledger)
    print(f"The report is in {page}.")
    return Code.DONE
