# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The command ``dpmcmc``."""

import argparse
import json
import sys
from collections.abc import Sequence

from dpmcmc.errors import InputError

__all__ = ["main"]

_PLAN_EXAMPLES = """\
examples:
  What do 20000 steps of the paper's minibatch test cost?
    dpmcmc plan --records 1000000 --batch 1000 --steps 20000 --delta 1e-6

  How many steps of the exact test does a budget buy?
    dpmcmc plan --records 1000000 --clip 0.006 --epsilon 1 --delta 1e-6

  How wide may the clip be for 1000 steps within a budget?
    dpmcmc plan --records 1000000 --steps 1000 --epsilon 1 --delta 1e-6

No records are read. Costs are rounded up; steps and clips are rounded down.
"""

_REPRODUCE_EXAMPLES = """\
examples:
  dpmcmc reproduce all --quick
  dpmcmc reproduce 2 3 --out figures
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return 0, or 2 for input that cannot be used."""
    parser = _parser()
    chosen = parser.parse_args(arguments)
    try:
        return int(chosen.run(chosen))
    except InputError as problem:
        print(f"dpmcmc: {problem}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dpmcmc",
        description="Bayesian posteriors from sensitive records, with a proven "
        "privacy cost.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_plan(commands)
    _add_reproduce(commands)
    return parser


def _add_plan(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
) -> None:
    plan = commands.add_parser(
        "plan",
        help="what a chain costs, or what a budget buys",
        description="Give all but one of --clip, --steps and --epsilon, and get the "
        "missing one, with what each accountant says of the chain. With --batch, "
        "--clip is 1 unless given.",
        epilog=_PLAN_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    plan.add_argument(
        "--records", type=int, required=True, metavar="N", help="number of records"
    )
    plan.add_argument(
        "--delta", type=float, required=True, metavar="D", help="δ of the budget"
    )
    plan.add_argument(
        "--epsilon", type=float, metavar="E", help="ε of the budget, if one is given"
    )
    plan.add_argument("--steps", type=int, metavar="T", help="steps of the chain")
    plan.add_argument(
        "--clip",
        type=float,
        metavar="B",
        help="clip of a record's log-likelihood ratio r; with --batch, of the scaled "
        "ratio N r / √b",
    )
    plan.add_argument(
        "--batch", type=int, metavar="b", help="records that a step reads, if not all"
    )
    plan.add_argument(
        "--test",
        choices=("barker", "gaussian", "minibatch", "logistic"),
        help="acceptance test: barker (exact) or gaussian on all records, minibatch "
        "(the paper's) or logistic on a batch; default: barker, or minibatch with "
        "--batch",
    )
    plan.add_argument(
        "--replacement", action="store_true", help="draw batches with replacement"
    )
    plan.add_argument(
        "--json", action="store_true", help="print the plan as JSON instead of a table"
    )
    plan.add_argument(
        "--plot", metavar="FILE", help="write a picture of ε against steps to FILE"
    )
    plan.set_defaults(run=_plan)


def _plan(chosen: argparse.Namespace) -> int:
    from dpmcmc.planning import plan  # noqa: PLC0415 - slow to import

    planned = plan(
        chosen.records,
        delta=chosen.delta,
        batch=chosen.batch,
        clip=chosen.clip,
        steps=chosen.steps,
        epsilon=chosen.epsilon,
        test=chosen.test,
        replacement=chosen.replacement,
    )
    if chosen.json:
        print(json.dumps(planned.to_dict(), indent=2, ensure_ascii=False))
    else:
        print(planned.table())
    if chosen.plot:
        from dpmcmc.report.budgets import plot_plan  # noqa: PLC0415 - slow to import

        plot_plan(planned, chosen.plot)
    return 0


def _add_reproduce(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
) -> None:
    reproduce = commands.add_parser(
        "reproduce",
        help="make the paper's figures again",
        description="Draw figures of the paper into a folder: pictures, the numbers "
        "beneath them as CSV, and a summary. All records are simulated.",
        epilog=_REPRODUCE_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
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


if __name__ == "__main__":
    sys.exit(main())
