# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Chains on a released sum alone, where it says all that the records can say.

They are the same chains, on the same tape and by the same test; but the records that
they are handed are one made-up zero, so that they cannot read any other.
"""

from collections.abc import Mapping
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.controls import release_sums, spread_of
from dpmcmc.custody import Custody
from dpmcmc.errors import InputError
from dpmcmc.influence import Told
from dpmcmc.loop import run_chains, with_start
from dpmcmc.posterior.posterior import Posterior
from dpmcmc.posterior.statement import Statement
from dpmcmc.private import FullData, Grid, Records, Tape
from dpmcmc.proposals import Proposal
from dpmcmc.run import Run
from dpmcmc.surrogates import StatisticsPlan
from dpmcmc.surrogates.sums import Shape

__all__ = ["ASKS_NOTHING", "require_untold", "run_told"]

ASKS_NOTHING = FullData(Grid(1e-9))
"""The test of a chain that asks the records nothing: its clip has nothing to clip."""

_CHUNK = 2000


def require_untold(told: Mapping[str, bool]) -> None:
    """Refuse what says how records are asked, where they are asked nothing.

    ``told`` says of each such setting whether it was given.
    """
    for name in (name for name, is_told in told.items() if is_told):
        raise InputError(
            f"{name} was given, but the sufficient statistics of this model say all "
            "that its records can say: no bits are asked of the records, and no start "
            f"is needed. Leave {name} out."
        )


def run_told(
    run: Run,
    plan: StatisticsPlan,
    statement: Statement,
    *,
    proposal: Proposal | None,
    tempered: float,
    seed: int | None,
    is_private: bool,
    custody: Custody,
    progress: bool,
) -> Posterior:
    """Release the sum of the statistics, and run chains on it alone.

    The draws are of the posterior as if the sum had no noise. The noise-aware draws are
    of the posterior by the law of the noisy sum, by chains of their own; or, where the
    model states no such law, the draws moved by as much as the noise may have.

    Guarantee
    ---------
    What is returned is a function of what ``plan.event`` stands for, made with a
    fresh tape unless the run is not private, and of public numbers. No record is read
    before ``custody.charge`` has returned for it, and none at all if it was kept.
    """
    sums = release_sums(
        run,
        plan,
        tempered=tempered,
        seed=seed,
        is_private=is_private,
        custody=custody,
        progress=progress,
    )

    def chains(told: Told, shape: Shape, stream: str) -> Posterior:
        ready = _on_sum(run, shape, shape.proposal if proposal is None else proposal)
        tape = Tape.fresh() if seed is None else Tape.seeded(seed, stream)
        test = replace(ASKS_NOTHING, influence=told)
        spread = None if sums.aware is not None else spread_of(sums, seed)
        return run_chains(ready, test, tape, statement, progress, spread)

    plain = chains(sums.told, sums.shape, "told")
    if sums.aware is None:
        return plain
    aware = chains(sums.aware, sums.aware_shape, "noise-aware")
    return replace(plain, noise_aware=aware.draws)


def _on_sum(run: Run, shape: Shape, proposal: Proposal) -> Run:
    """The run with its records taken away, from the top of the posterior.

    What is added up is as large as N: it takes float64 to tell two points apart.
    """
    with jax.enable_x64(True):
        points = jax.tree.map(
            lambda leaf: jnp.stack([jnp.asarray(leaf, float)] * run.chains), shape.mean
        )
    public = replace(
        run,
        records=Records(np.zeros(1)),
        dtype="float64",
        devices=run.devices[:1],
        chunk=min(_CHUNK, run.steps),
    )
    return with_start(public, points, proposal)
