# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The command ``dpmcmc``: one job from plan to report, and a ledger beside it."""

import argparse
import os
import sys
import textwrap
import warnings
from collections.abc import Sequence

from dpmcmc.cli.after_commands import add as add_after
from dpmcmc.cli.audit_command import add as add_audit
from dpmcmc.cli.common import Code
from dpmcmc.cli.completion import add as add_completion
from dpmcmc.cli.demo_command import add as add_demo
from dpmcmc.cli.ledger_command import add as add_ledger
from dpmcmc.cli.plan_command import add as add_plan
from dpmcmc.cli.rehearse_command import add as add_rehearse
from dpmcmc.cli.report_command import add as add_report
from dpmcmc.cli.sample_command import add as add_sample
from dpmcmc.cli.schema_command import add as add_schema
from dpmcmc.cli.sign_command import add as add_sign
from dpmcmc.errors import InputError

__all__ = ["main", "parser"]

_EXAMPLES = """\
a first look, and a job from end to end:
  dpmcmc demo
  dpmcmc schema people.parquet --out schema.yaml
  dpmcmc plan --records 1000000 --clip 0.006 --epsilon 1 --delta 1e-6
  dpmcmc ledger register study.db people --records 20000 --epsilon 3 --delta 1e-6
  dpmcmc rehearse model.py:model --records 20000 --epsilon 1 --delta 1e-6
  dpmcmc sample model.py:model --data people.parquet --epsilon 1 --delta 1e-6 \\
      --ledger study.db --data-set people --out run
  dpmcmc report run
  dpmcmc predict run --rows new.csv --out predictions.csv

Each command has --help with examples.

exit codes:
  0    done
  1    failed after part of the budget was spent; what was released is kept
  2    refused; nothing was read or spent
  3    not usable: what was released says so, and the rest was not spent
  130  interrupted; what was released is kept
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    chosen = parser().parse_args(arguments)
    with warnings.catch_warnings():
        warnings.showwarning = _warn
        try:
            code = int(chosen.run(chosen))
            sys.stdout.flush()
            return code
        except InputError as problem:
            print(f"dpmcmc: {problem}", file=sys.stderr)
            return Code.REFUSED
        except KeyboardInterrupt:
            print("dpmcmc: interrupted", file=sys.stderr)
            return Code.INTERRUPTED
        except BrokenPipeError:  # the reader has seen enough, as in "| head"
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return Code.DONE


def _warn(message: Warning | str, *_: object, **__: object) -> None:
    """Show a warning to a person: what it says, and not where in the code."""
    said = textwrap.fill(f"dpmcmc: {message}", 88, subsequent_indent="  ")
    print(said, file=sys.stderr)


class _Version(argparse.Action):
    """Print the version, which is looked up only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        import dpmcmc  # noqa: PLC0415 - only here

        print(f"dpmcmc {dpmcmc.__version__}")
        parser.exit()


def parser() -> argparse.ArgumentParser:
    """Make the parser of all commands."""
    found = argparse.ArgumentParser(
        prog="dpmcmc",
        description="Bayesian posteriors from sensitive records, with a proven "
        "privacy cost.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    found.add_argument(
        "--version", action=_Version, nargs=0, help="print the version, and exit"
    )
    commands = found.add_subparsers(required=True, metavar="COMMAND", title="commands")
    for add in (
        add_demo,
        add_schema,
        add_plan,
        add_rehearse,
        add_sample,
        add_report,
        add_after,
        add_sign,
        add_ledger,
        add_audit,
    ):
        add(commands)
    add_completion(commands, parser)
    return found
