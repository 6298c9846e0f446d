# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""``dpmcmc rehearse``: what a budget would buy, on simulated records."""

import argparse
import sys
import textwrap
from typing import Any

from dpmcmc.cli.common import Commands, add_command, show_json
from dpmcmc.cli.tables import add_table_options, bounds_of, columns_of, levels_of
from dpmcmc.errors import InputError

__all__ = ["add"]

_EXAMPLES = """\
examples:
  dpmcmc rehearse model.py:model --records 20000 --epsilon 1 --delta 1e-6
  dpmcmc rehearse model.py:model --records 20000 --epsilon 1 --delta 1e-6 \\
      --columns age,region,ill --plot rehearsal.png
  dpmcmc rehearse model.py:model --data people.parquet --epsilon 1 --delta 1e-6

No privacy is spent. With --data, only the names and the number of its records count.
"""


def add(commands: Commands) -> None:
    """Add the command."""
    rehearse = add_command(
        commands,
        "rehearse",
        summary="try a budget on simulated records; costs no privacy",
        description="Simulate as many records as there are, run every way of private "
        "sampling that the model is fit for on them, and say how near each comes to "
        "the posterior.",
        examples=_EXAMPLES,
    )
    rehearse.add_argument("model", metavar="FILE:NAME", help="a file, and a name in it")
    rehearse.add_argument("--records", type=int, metavar="N", help="how many there are")
    rehearse.add_argument("--epsilon", type=float, required=True, metavar="E")
    rehearse.add_argument("--delta", type=float, required=True, metavar="D")
    add_table_options(rehearse, required=False)
    rehearse.add_argument("--plot", metavar="FILE", help="write a picture to FILE")
    rehearse.add_argument("--json", action="store_true", help="print it as JSON")
    rehearse.set_defaults(run=_rehearse)


def _rehearse(chosen: argparse.Namespace) -> int:
    from dpmcmc.workflow import rehearse  # noqa: PLC0415 - slow to import

    choice = rehearse(
        chosen.model,
        records=chosen.records,
        data=chosen.data,
        epsilon=chosen.epsilon,
        delta=chosen.delta,
        columns=columns_of(chosen),
        levels=levels_of(chosen),
        bounds=bounds_of(chosen),
        progress=sys.stderr.isatty() and not chosen.json,
    )
    if chosen.json:
        show_json(_values(choice))
    else:
        print(*map(_fitted, str(choice).splitlines()), sep="\n")
    if chosen.plot is not None:
        if choice.rehearsal is None:
            raise InputError(
                f"there is no picture {chosen.plot}: nothing was rehearsed "
                f"({choice.reason.rstrip('.')})."
            )
        from dpmcmc.report.rehearsals import (  # noqa: PLC0415 - slow to import
            plot_rehearsal,
        )

        plot_rehearsal(choice.rehearsal, chosen.plot)
    return 0


def _fitted(line: str) -> str:
    """A line, broken if it is long; those of tables are not."""
    return textwrap.fill(line, 88, subsequent_indent="  ") if line[88:] else line


def _chosen(choice: Any) -> dict[str, float | None]:
    """What was chosen about the way; None for what was not."""
    share, part, bound = choice.chosen.split or (None, None, None)
    return {
        "share": share,
        "hessian_part": part,
        "gradient_bound": bound,
        "tempering": choice.chosen.tempering,
        "chains": choice.chosen.chains,
    }


def _values(choice: Any) -> dict[str, Any]:
    trials = () if choice.rehearsal is None else choice.rehearsal.trials
    return {
        "way": choice.way,
        "chosen": _chosen(choice),
        "words": choice.chosen.words,
        "reason": choice.reason,
        "tried": list(choice.tried),
        "trials": [
            {
                "name": one.name,
                "steps": one.steps,
                "epsilon": one.epsilon,
                "off": [float(number) for number in one.off],
                "sd_ratio": [float(number) for number in one.sd_ratio],
                "ess": one.ess,
                "accepted": one.accepted,
                "clipped": one.clipped,
                "usable": one.is_usable,
            }
            for one in trials
        ],
    }
