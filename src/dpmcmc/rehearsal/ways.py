# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The ways that one call may choose from: each is an entry, judged like the others."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import numpy as np

from dpmcmc.certified import STEPS_WITH_CONTROL
from dpmcmc.errors import InputError
from dpmcmc.influence.choices import (
    Clipping,
    ConditionalCentring,
    ModelCorrection,
    PlainClipping,
    Shrinking,
)
from dpmcmc.model.model import Model, check_model
from dpmcmc.model.relevance import told_coordinates
from dpmcmc.private import Grid, Records
from dpmcmc.proposals import RandomWalk
from dpmcmc.rehearsal.shares import Split
from dpmcmc.rehearsal.trials import Way
from dpmcmc.surrogates import ControlVariates, check_release
from dpmcmc.variational import Plan, Start, check_start

__all__ = [
    "BOUNDS",
    "SHARES",
    "is_control",
    "open_ways",
    "safest",
    "way_of",
    "with_shares",
]

BOUNDS = (2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 16.0)
"""Bounds on gradients that control variates may have, in units of √d."""

SHARES = (0.75, 0.9, 0.95)
"""Parts of what is left of ε that control variates may have; the rest is for bits."""

_SHARE = 0.9
"""The part that they have where nothing could be rehearsed."""

_ROUNDS, _MANY = 3, 20_000
"""Rounds, and from how many records on: with few, the first are all noise and lead a
run farther astray."""

_STEPS = 3000
"""Steps of a way without control variates; the clip is what the budget allows then."""

_SHORT = 0.8
"""Moves of such a way, in deviations of the start."""

_TRIED_GRID, _TRIED = Grid(0.01), 4096
"""Any grid and number: with them a model is asked whether a way to clip suits it."""

_CONTROL = "control variates"
_IN_ROUNDS = f"{_CONTROL} in {_ROUNDS} rounds"


def open_ways(
    model: Model, records: Records, fit: Plan, delta: float, epsilon: float, dtype: str
) -> dict[str, Way]:
    """Every way that the model is fit for, by name, in the order of preference.

    Raises
    ------
    InputError
        If there is none.
    """
    try:
        with jax.enable_x64(dtype == "float64"):
            start = jax.tree.map(np.asarray, model.initial)
            check_model(model, start, records.shape_of_one(dtype))
        check_start(model, records, fit, dtype)
    except InputError as problem:
        raise InputError(
            f"{str(problem).rstrip('.')}; so nothing can be chosen for you. Give "
            "proposal and clip (and start, if it is not the model's initial point)."
        ) from None
    control = ControlVariates(share=_SHARE)
    size = int(told_coordinates(model, records).sum())
    ways: dict[str, Way] = {}
    if _fits(
        lambda: check_release(
            model, records, control.plan(len(records), size, delta, epsilon), dtype
        )
    ):
        once = {"control": control, "steps": STEPS_WITH_CONTROL}
        ways[_CONTROL] = once
        if len(records) >= _MANY:
            ways[_IN_ROUNDS] = {**once, "control": replace(control, rounds=_ROUNDS)}
    clippings: dict[str, Clipping] = {
        "shrinking": Shrinking(),
        "conditional centring": ConditionalCentring(),
        "model correction": ModelCorrection(),
        "plain clipping": PlainClipping(),
    }
    one_record = records.shape_of_one(dtype)
    for name, clipping in clippings.items():
        suits = partial(clipping.influence, model, one_record, _TRIED_GRID, _TRIED)
        if _fits(suits):
            ways[name] = partial(_short_walk, clipping)
    return ways


def safest(ways: Mapping[str, Way]) -> str:
    """The way to take where nothing could be rehearsed, and a start may be far off."""
    return _IN_ROUNDS if _IN_ROUNDS in ways else next(iter(ways))


def is_control(name: str) -> bool:
    """Whether a way has control variates."""
    return name.startswith(_CONTROL)


def with_shares(ways: Mapping[str, Way]) -> dict[tuple[str, float | None], Way]:
    """All ways, those of control variates with every share that they may have.

    They go by their names and shares; other ways have no share.
    """
    return {
        (name, share): way if share is None else _with_share(way, share)
        for name, way in ways.items()
        for share in (SHARES if is_control(name) else (None,))
    }


def way_of(ways: Mapping[str, Way], name: str, split: Split | None) -> Way:
    """The way of that name, with a share, part and bound if they were chosen.

    Part and bound change no cost: the noise is in units of them.
    """
    if split is None:
        return ways[name]
    way = _with_share(ways[name], split.share)
    control = replace(
        way["control"], hessian_part=split.part, gradient_bound=split.bound
    )
    return {**way, "control": control}


def _with_share(way: Way, share: float) -> dict[str, Any]:
    """A way of control variates that have such a share."""
    assert not callable(way)
    return {**way, "control": replace(way["control"], share=share)}


def _short_walk(clipping: Clipping, start: Start) -> dict[str, Any]:
    """A walk with moves about as long as the posterior is wide: few are clipped."""
    proposal = RandomWalk(_SHORT**2 * start.covariance)
    return {"clipping": clipping, "steps": _STEPS, "proposal": proposal}


def _fits(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except InputError:
        return False
    return True
