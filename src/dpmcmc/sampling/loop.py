# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The loop that runs a plan: charge, run, keep. All control flow of a run is here."""

from functools import partial

from dpmcmc.errors import NotUsableError, StoppedError
from dpmcmc.posterior import Posterior
from dpmcmc.sampling.chain import Chain
from dpmcmc.sampling.checkpoint import Checkpoint
from dpmcmc.sampling.compiled import kept_programs
from dpmcmc.sampling.on_host import on_host
from dpmcmc.sampling.plan import Plan
from dpmcmc.sampling.stages import Context, Part, SoFar

__all__ = ["run"]


@on_host()
@kept_programs()
def run(plan: Plan, context: Context, checkpoint: Checkpoint) -> Posterior:
    """Run the stages of a plan in order, and collect what they released.

    A run that was interrupted goes on with what its checkpoint kept.

    Raises
    ------
    NotUsableError
        If what was released says that the rest would be of no use; it is not spent.
    StoppedError
        If something failed once a part had been charged. What was released is in the
        checkpoint, from which the run can go on.

    Guarantee
    ---------
    Each stage is run once, in order, on the records of the plan, and each of its parts
    is charged before a record is read for it. What is returned is a function of the
    kept parts and of public numbers.
    """
    checkpoint.reserve(plan.events, plan.statement({}))
    so_far: dict[str, list[Part]] = {}
    for stage in plan.stages:
        parts = so_far[stage.name] = list(checkpoint.kept(stage.name))
        charged = checkpoint.charged(stage.name)
        charge = partial(checkpoint.charge, stage.name)
        try:
            for part in stage.run(context, so_far, charged, charge):
                checkpoint.keep(stage.name, part)
                parts.append(part)
        except KeyboardInterrupt:
            parts[:] = checkpoint.kept(stage.name)
            if context.problem.is_shared or not _has_draws(plan, so_far):
                raise
            break
        except Exception as error:
            if not any(checkpoint.charged(one.name) for one in plan.stages):
                raise
            raise StoppedError(stage.name, checkpoint) from error
        objection = stage.objection(plan.problem, so_far)
        if objection is not None:
            raise NotUsableError(stage.name, objection, plan.statement(so_far))
    return plan.posterior(context, so_far)


def _has_draws(plan: Plan, so_far: SoFar) -> bool:
    """Whether a chain released draws, which are of use without what comes after."""
    chains = [stage.name for stage in plan.stages if isinstance(stage, Chain)]
    return any(so_far.get(name) for name in chains)
