# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""``dpmcmc rehearse``: what a budget would buy, on simulated records."""

import argparse
import math
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from dpmcmc.cli.common import Code, Commands, add_command, show_json
from dpmcmc.cli.options import add_job_options, job_of_options

if TYPE_CHECKING:
    from dpmcmc.rehearsal.rehearse import Rehearsal

__all__ = ["add"]

_EXAMPLES = """\
examples:
  dpmcmc rehearse model.py:model --records 20000 --epsilon 1 --delta 1e-6
  dpmcmc rehearse model.py:model --data people.parquet --epsilon 1 --delta 1e-6
  dpmcmc rehearse model.py:model --records 20000 --epsilon 1 --delta 1e-6 \\
      --method control-variates --method sufficient-statistics --runs 3

No record is read, and no privacy spent: with --data, the schema and the number of
records are read.
"""


def add(commands: Commands) -> None:
    """Add the command."""
    rehearse = add_command(
        commands,
        "rehearse",
        summary="try a budget on simulated records; costs no privacy",
        description="Simulate as many records as there are, draw their posterior "
        "several times with the noise of a budget, and compare with the posterior "
        "without privacy.",
        examples=_EXAMPLES,
    )
    add_job_options(rehearse, many_methods=True)
    rehearse.add_argument("--records", type=int, metavar="N", help="how many there are")
    rehearse.add_argument(
        "--runs", type=int, default=5, metavar="R", help="runs of each method; 5"
    )
    rehearse.add_argument("--json", action="store_true", help="print it as JSON")
    rehearse.set_defaults(run=_rehearse)


def _rehearse(chosen: argparse.Namespace) -> int:
    import dpmcmc  # noqa: PLC0415 - slow to import
    from dpmcmc.workflow import study_of  # noqa: PLC0415 - slow to import
    from dpmcmc.workflow.job import settled  # noqa: PLC0415 - slow to import

    methods, chosen.method = chosen.method or [None], None
    job = job_of_options(chosen, ("model", "epsilon", "delta"))
    study, _ = study_of(settled(job))
    records, model = study.stand_in(job.data, chosen.records), study.prepared_model()
    if isinstance(records, dict):
        model = study.declared.applied_to(model)
    rehearsal = dpmcmc.rehearse(
        model,
        records,
        epsilon=chosen.epsilon,
        delta=job.delta,
        methods={
            name or "default": replace(job, method=name).made_method()
            for name in methods
        },
        covariates=study.covariates,
        runs=chosen.runs,
        steps=job.steps,
        chains=job.chains,
        progress=not chosen.json,
    )
    if chosen.json:
        show_json(_values(rehearsal))
    else:
        print(rehearsal)
    return Code.DONE


def _values(rehearsal: "Rehearsal") -> dict[str, Any]:
    """The rehearsal for machines: JSON has no infinity."""

    def plain(values: Any) -> list[float | None]:
        return [float(one) if math.isfinite(one) else None for one in values]

    return {
        "records": rehearsal.records,
        "epsilon": rehearsal.epsilon,
        "delta": rehearsal.delta,
        "trials": [
            {**asdict(one), "error": plain(one.error), "width": plain(one.width)}
            for one in rehearsal.trials
        ],
    }
