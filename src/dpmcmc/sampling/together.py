# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A run of several processes: all agree on it before a record is read."""

import hashlib
import json
from dataclasses import replace

from dpmcmc.errors import InputError
from dpmcmc.processes import from_each, from_first, is_first, together
from dpmcmc.sampling.checkpoint import Checkpoint
from dpmcmc.sampling.plan import Plan
from dpmcmc.sampling.problem import Problem
from dpmcmc.sampling.stages import Context

__all__ = ["agree_on", "require_shared"]


def require_shared(problem: Problem, checkpoint: Checkpoint | None) -> None:
    """Refuse what several processes would each do by themselves.

    Raises
    ------
    InputError
        If records are not in parts, so that each process would release them; or if a
        checkpoint is not shared, so that each would charge.
    """
    if together() == 1:
        return
    if not problem.is_shared:
        raise InputError(
            f"{together()} processes run together, but the records are not in parts: "
            "each would release them once more. Give Records.from_parquet(folder), or "
            "each process's own part as Records(part, in_parts=True)."
        )
    if checkpoint is not None and not getattr(checkpoint, "is_shared", False):
        raise InputError(
            f"{together()} processes run together, and each would charge the "
            "checkpoint. Give workflow.SharedCheckpoint(checkpoint) on the first, and "
            "workflow.SharedCheckpoint(None) on the others."
        )


def agree_on(plan: Plan, context: Context) -> Context:
    """The context of a run, once all its processes have agreed on the plan.

    Raises
    ------
    InputError
        On every process, if the plans, seeds or precisions differ.

    Guarantee
    ---------
    If it returns, all processes have the same stages in the same order, with the same
    events, number of records, precision and seed, and the same public randomness.
    """
    if not plan.problem.is_shared:
        return context
    stages = [(one.name, sorted(map(repr, one.events.items()))) for one in plan.stages]
    problem = plan.problem
    facts = [stages, problem.size, problem.dtype, context.seed, len(problem.devices)]
    digest = hashlib.sha256(json.dumps(facts).encode()).digest()
    if len(set(from_each(digest))) > 1:
        raise InputError(
            "the processes of this run were given different settings, models or "
            "records. Give all of them the same."
        )
    drawn = int.from_bytes(from_first(context.drawn.to_bytes(8)))
    return replace(context, drawn=drawn, progress=context.progress and is_first())
