# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Where chains start: at a public point, at draws from the prior, or at a private fit.

A private fit also says how chains move from there, unless they are told.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from dp_accounting.dp_event import DpEvent, NoOpDpEvent

from dpmcmc.custody import Arrays, Custody, arrays_of, tree_of
from dpmcmc.errors import InputError
from dpmcmc.loop import with_start
from dpmcmc.model.model import Model
from dpmcmc.model.tracing import shapes_of, show_shapes
from dpmcmc.private import Records, Tape
from dpmcmc.proposals import Adaptive, Proposal, RandomWalk, best_scale
from dpmcmc.run import Run
from dpmcmc.variational import Plan, Start, Variational, check_start, fit_start

__all__ = [
    "PlannedStart",
    "begin",
    "check_planned",
    "choose_proposal",
    "find_start",
    "plan_start",
    "point_of",
]


@dataclass(frozen=True)
class PlannedStart:
    """How chains will start, settled before any record is read.

    Attributes
    ----------
    from_prior
        Whether each chain starts at a draw from the prior.
    fit
        The private fit that will find the start, if there is one.
    found
        The private fit that has found it already, if there is one.
    """

    from_prior: bool = False
    fit: Plan | None = None
    found: Start | None = None

    @property
    def event(self) -> DpEvent:
        """What finding the start will release."""
        return NoOpDpEvent() if self.fit is None else self.fit.event

    @property
    def spent(self) -> tuple[float, float]:
        """The (ε, δ) of a start that was found before the rest was settled.

        It is added to the rest: what is settled after a release, such as a clip or
        a number of steps, may have been chosen by it, and only sums of budgets hold
        for choices of every kind.
        """
        return (
            (0.0, 0.0) if self.found is None else (self.found.epsilon, self.found.delta)
        )

    @property
    def descriptions(self) -> tuple[str, ...]:
        """What finding the start releases, in words."""
        source = self.fit or self.found
        return () if source is None else (source.description,)

    @property
    def is_fitted(self) -> bool:
        """Whether the start comes with a shape."""
        return self.fit is not None or self.found is not None


def point_of(start: Any) -> Any:
    """The point that ``start`` is, or None if it says how to find one."""
    is_way = type(start) in (str, Variational, Start)
    return None if is_way else start


def plan_start(
    start: Any, model: Model, records: Records, delta: float, epsilon: float | None
) -> PlannedStart:
    """Settle how chains start, from public numbers alone.

    Raises
    ------
    InputError
        If ``start`` is no way to start, or the model cannot start so.
    """
    way = Variational() if _is(start, "variational") else start
    if type(way) is Variational:
        return PlannedStart(fit=way.plan(len(records), delta, epsilon))
    if type(way) is Start:
        return PlannedStart(found=way)
    if not isinstance(way, str):
        return PlannedStart()
    if not _is(way, "prior"):
        raise InputError(
            f"start is {start!r}; it must be 'prior', 'variational', a "
            "dpmcmc.Variational or a point. Leave it out for the model's own point."
        )
    if model.draw_prior is None:
        raise InputError(
            "start is 'prior', but the model has no draw_prior. Give the model one, "
            "or start at a point."
        )
    return PlannedStart(from_prior=True)


def _is(start: Any, name: str) -> bool:
    return isinstance(start, str) and start == name


def choose_proposal(
    proposal: Proposal | None, planned: PlannedStart, is_shaped_later: bool = False
) -> Proposal:
    """The proposal, or one that stands in for that of a release until it is made.

    ``is_shaped_later`` says that another release than the start will shape one.

    Raises
    ------
    InputError
        If there is neither a proposal nor a fit to shape one.
    """
    if proposal is not None:
        return proposal
    if not (planned.is_fitted or is_shaped_later):
        raise InputError(
            "there is no proposal. Give one, such as dpmcmc.RandomWalk(scale=0.1), or "
            "start='variational', which finds one."
        )
    return Adaptive(RandomWalk(1.0))


def begin(
    run: Run,
    planned: PlannedStart,
    *,
    is_shaped: bool,
    tempered: float,
    seed: int | None,
    is_private: bool,
    custody: Custody,
    progress: bool,
) -> tuple[Run, Start | None]:
    """Find the start of every chain, and the proposal where it is to be shaped.

    Guarantee
    ---------
    The start and the proposal are public, or functions of what ``planned.event``
    stands for, made with a fresh tape unless the run is not private, and charged
    before a record is read.
    """
    if planned.from_prior:
        return with_start(run, _prior_draws(run, seed), run.proposal), None
    found = planned.found
    if planned.fit is not None:
        found = find_start(
            run.model,
            run.records,
            planned.fit,
            Tape.fresh() if is_private or seed is None else Tape.seeded(seed),
            tempered=tempered,
            dtype=run.dtype,
            devices=run.devices,
            custody=custody,
            progress=progress,
        )
    if found is None:
        return run, None
    proposal = run.proposal
    if is_shaped:
        size = len(found.covariance)
        proposal = Adaptive(RandomWalk(best_scale(size) ** 2 * found.covariance))
    points = jax.tree.map(lambda leaf: jnp.stack([leaf] * run.chains), found.mean)
    return with_start(run, points, proposal), found


def find_start(
    model: Model,
    records: Records,
    plan: Plan,
    tape: Tape,
    *,
    tempered: float | None = None,
    dtype: str,
    devices: Sequence[jax.Device] | None,
    custody: Custody,
    progress: bool,
) -> Start:
    """Fit a start, or take the one that was kept when this run was broken off.

    Guarantee
    ---------
    No record is read before ``custody.charge`` has returned for the start, and none
    at all if it was kept.
    """
    kept = custody.kept("start")
    if kept is not None:
        return _start_of(kept, plan, model)
    custody.charge("start", plan.event)
    found = fit_start(
        model,
        records,
        plan,
        tape,
        tempered=tempered,
        dtype=dtype,
        devices=devices,
        progress=progress,
    )
    mean = arrays_of(found.mean, "mean")
    custody.keep("start", {**mean, "covariance": found.covariance})
    return found


def _start_of(arrays: Arrays, plan: Plan, model: Model) -> Start:
    mean = tree_of(arrays, "mean", model.initial)
    covariance = np.asarray(arrays["covariance"])
    return Start(mean, covariance, plan.epsilon, plan.delta, plan.description)


def check_planned(run: Run, planned: PlannedStart) -> None:
    """Refuse a model that cannot start as planned; no record is read."""
    if planned.fit is not None:
        check_start(run.model, run.records, planned.fit, run.dtype)
    if planned.from_prior:
        drawn = jax.eval_shape(lambda: _draw(run, jax.random.key(0)))
        if shapes_of(drawn) != shapes_of(run.start):
            raise InputError(
                f"draw_prior gives {show_shapes(drawn)}, but θ is "
                f"{show_shapes(run.start)}; they must be alike."
            )


def _prior_draws(run: Run, seed: int | None) -> Any:
    """One draw from the prior for each chain, from public randomness."""
    number = int(np.frombuffer(os.urandom(4), np.uint32)[0]) if seed is None else seed
    keys = jax.random.split(jax.random.key(number), run.chains)
    with jax.enable_x64(run.dtype == "float64"):
        drawn = jax.vmap(lambda key: _draw(run, key))(keys)
        return jax.tree.map(lambda new, old: new.astype(old.dtype), drawn, run.points)


def _draw(run: Run, key: jax.Array) -> Any:
    assert run.model.draw_prior is not None
    return run.model.draw_prior(key)
