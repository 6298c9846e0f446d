# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Each release of the default method: charged first, once, and with enough noise."""

import math
from typing import Any

import numpy as np
import pytest

import dpmcmc
from dpmcmc import Model
from dpmcmc.accounting import Event, GaussianRelease, LaplaceRelease
from dpmcmc.private import totals
from dpmcmc.sampling import check
from dpmcmc.sampling.check import Check
from dpmcmc.sampling.checkpoint import MemoryCheckpoint
from dpmcmc.sampling.fit import stage
from dpmcmc.sampling.loop import run
from dpmcmc.sampling.plan import Plan
from dpmcmc.sampling.problem import make_problem
from dpmcmc.sampling.sample import plan_run
from dpmcmc.sampling.stages import Context, Events, Part

Log = list[tuple[str, Any]]


@pytest.fixture(scope="module")
def plan() -> Plan:
    model = Model(
        lambda t, r: -0.5 * (r - t["mean"]) ** 2, lambda t: 0.0, {"mean": 0.0}
    )
    records = np.random.default_rng(0).normal(1.0, 1.0, 3000)
    problem = make_problem(model, records, start=None, precision=None, devices=None)
    return plan_run(
        problem, dpmcmc.ControlVariates(), epsilon=4.0, delta=1e-6, steps=40
    )


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Log:
    """Charges and releases, in the order in which they come about."""
    seen: Log = []
    opened = totals.open_records

    def opening(*given: Any) -> Any:
        if not seen:  # before anything was charged; what is raised here goes unseen
            seen.append(("opened", None))
        return opened(*given)

    monkeypatch.setattr(totals, "open_records", opening)

    def spied(original: Any) -> Any:
        def release(*given: Any, noise: float, **more: Any) -> np.ndarray:
            seen.append(("read", None))
            values: np.ndarray = original(*given, noise=noise, **more)
            moved = math.sqrt(2 * len(values)) if values.ndim == 2 else 2.0
            event: Event = GaussianRelease(moved / noise)
            if more.get("laplace"):
                event = LaplaceRelease(values.size, moved / noise)
            seen.append(("released", event))
            return values

        return release

    for room, name in (
        (stage, "release_sum"),
        (stage, "release_counts"),
        (check, "release_counts"),
    ):
        monkeypatch.setattr(room, name, spied(getattr(room, name)))
    return seen


class Logged(MemoryCheckpoint):
    """A checkpoint that writes charges of releases down."""

    def __init__(self, log: Log) -> None:
        super().__init__()
        self.log = log

    def charge(self, stage: str, part: str, events: Events) -> None:
        super().charge(stage, part, events)
        for event, count in events.items():
            if isinstance(event, GaussianRelease | LaplaceRelease):
                assert count == 1
                self.log.append(("charged", event))


def test_every_release_is_charged_just_before_and_for_no_less(
    plan: Plan, log: Log
) -> None:
    run(plan, Context(plan.problem, 1, progress=False), Logged(log))
    assert len(log) > 10 * 3
    assert len(log) % 3 == 0
    triples = list(zip(log[::3], log[1::3], log[2::3], strict=True))
    assert {tuple(kind for kind, _ in three) for three in triples} == {
        ("charged", "read", "released")
    }
    normal, finals = [], []
    for (_, charged), _, (_, released) in triples:
        assert type(released) is type(charged)
        if isinstance(charged, LaplaceRelease):
            finals.append(charged)
            assert released.dimension == charged.dimension
            paid, noisy = charged.shift, released.shift
        else:
            normal.append(charged)
            paid, noisy = charged.mu, released.mu
        assert noisy <= paid
        assert noisy == pytest.approx(paid, rel=1e-12)
    total = math.fsum(charged.mu**2 for charged in normal)
    releases = [event for event in plan.events if isinstance(event, GaussianRelease)]
    assert total <= math.fsum(event.mu**2 for event in releases)
    assert {event: finals.count(event) for event in finals} == {
        event: count
        for event, count in plan.events.items()
        if isinstance(event, LaplaceRelease)
    }
    assert len(finals) == 1


@pytest.mark.parametrize("is_kept", [True, False], ids=["kept", "lost"])
def test_a_check_that_was_charged_reads_nothing(
    plan: Plan, log: Log, is_kept: bool
) -> None:
    checking = plan.stages[-1]
    assert isinstance(checking, Check)
    kept = [Part(checking.name, {})] if is_kept else []

    def charge(name: str, events: Events) -> None:
        raise AssertionError("it was charged before")

    context = Context(plan.problem, 1, progress=False)
    before = {checking.name: checking.events}
    parts = checking.run(context, {checking.name: kept}, before, charge)
    assert list(parts) == []
    assert log == []


def test_a_release_of_more_histograms_than_were_paid_for_is_withheld(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    def doubled(original: Any) -> Any:
        return lambda *given, **more: np.concatenate([original(*given, **more)] * 2)

    monkeypatch.setattr(stage, "release_counts", doubled(stage.release_counts))
    checkpoint = MemoryCheckpoint()
    with pytest.raises(dpmcmc.StoppedError) as stopped:
        run(plan, Context(plan.problem, 1, progress=False), checkpoint)
    assert isinstance(stopped.value.__cause__, ValueError)
    assert list(checkpoint.kept("fit")) == []
