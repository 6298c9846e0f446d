# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""``dpmcmc plan``: what a chain costs, or what a budget buys."""

import argparse

from dpmcmc.cli.common import Code, Commands, add_command, show_json

__all__ = ["add"]

_EXAMPLES = """\
examples:
  How wide will intervals be for a budget? Which ε makes them 10% wider at most?
    dpmcmc plan --records 100000 --epsilon 1 --delta 1e-6
    dpmcmc plan --records 100000 --width 1.1 --delta 1e-6

  What do 20000 steps of the paper's minibatch test cost?
    dpmcmc plan --records 1000000 --batch 1000 --steps 20000 --delta 1e-6

  How many steps of the exact test does a budget buy?
    dpmcmc plan --records 1000000 --clip 0.006 --epsilon 1 --delta 1e-6

  How wide may the clip be for 1000 steps within a budget?
    dpmcmc plan --records 1000000 --steps 1000 --epsilon 1 --delta 1e-6

No records are read. Costs are rounded up; steps and clips are rounded down.
"""


def add(commands: Commands) -> None:
    """Add the command."""
    plan = add_command(
        commands,
        "plan",
        summary="what a budget buys, or what a chain costs",
        description="With --epsilon or --width alone: how wide intervals will be with "
        "the default method, or which ε they need. Of a chain of decisions: give all "
        "but one of --clip, --steps and --epsilon, and get the missing one, with what "
        "each accountant says of it.",
        examples=_EXAMPLES,
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
    plan.add_argument(
        "--width",
        type=float,
        metavar="W",
        help="how many times as wide as without privacy intervals may be",
    )
    plan.add_argument("--steps", type=int, metavar="T", help="steps of the chain")
    plan.add_argument(
        "--clip",
        type=float,
        metavar="B",
        help="bound on a record's log-likelihood "
        "ratio in a step; with --batch, √b/N unless given",
    )
    plan.add_argument(
        "--batch", type=int, metavar="b", help="records that a step reads, if not all"
    )
    plan.add_argument(
        "--method",
        choices=("barker", "gaussian-barker", "minibatch-barker"),
        help="default: barker, or minibatch-barker with --batch",
    )
    plan.add_argument(
        "--replacement", action="store_true", help="draw batches with replacement"
    )
    plan.add_argument(
        "--json", action="store_true", help="print the plan as JSON instead of a table"
    )
    plan.set_defaults(run=_plan)


def _plan(chosen: argparse.Namespace) -> int:
    from dpmcmc.rehearsal.planning import plan  # noqa: PLC0415 - slow to import

    planned = plan(
        chosen.records,
        delta=chosen.delta,
        batch=chosen.batch,
        clip=chosen.clip,
        steps=chosen.steps,
        epsilon=chosen.epsilon,
        method=chosen.method,
        replacement=chosen.replacement,
        width=chosen.width,
    )
    if chosen.json:
        show_json(planned.to_dict())
    else:
        print(planned)
    return Code.DONE
