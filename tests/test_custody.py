# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Custody is asked before records are read, and a broken run goes on from its parts."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from custodians import MODEL, RECORDS, Custodian, Killed, all_of, run
from dp_accounting.dp_event import SelfComposedDpEvent

import dpmcmc
from dpmcmc import (
    ControlVariates,
    RandomWalk,
    SufficientStatistics,
    Variational,
)
from dpmcmc.accounting import certify_epsilon
from dpmcmc.accounting.registry import flatten
from dpmcmc.custody import Arrays
from dpmcmc.private import acceptance, gradients
from dpmcmc.proposals import Adaptive
from dpmcmc.variational import Start


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Custodian]:
    """A custodian that also writes down each time the records are opened."""

    def make(dies_at: str = "") -> Custodian:
        custodian = Custodian(dies_at)
        for module, name in (
            (acceptance, "open_records"),
            (acceptance, "open_on_host"),
            (gradients, "open_on_host"),
        ):
            original = getattr(module, name)

            def opened(*given: Any, original: Any = original, **named: Any) -> Any:
                custodian.log.append("open")
                return original(*given, **named)

            monkeypatch.setattr(module, name, opened)
        return custodian

    return make


WITH_CONTROL = {
    "start": Variational(share=0.3),
    "control": ControlVariates(share=0.5),
    "clip": None,
    "steps": 200,
    "proposal": None,
}


def test_each_part_is_charged_before_the_records_are_opened_for_it(
    watched: Callable[..., Custodian],
) -> None:
    custodian = watched()
    run(custodian, **WITH_CONTROL)
    log = custodian.log
    assert log[:3] == ["reserve", "charge start", "open"]
    assert log[log.index("keep start") :][:3] == [
        "keep start",
        "charge control",
        "open",
    ]
    assert log[log.index("keep control") :][:4] == [
        "keep control",
        "keep plan",
        "charge chunk-000000",
        "open",
    ]
    for place, what in enumerate(log):
        if what.startswith("keep chunk"):
            assert what.replace("keep", "charge") in log[:place]


def test_what_was_charged_is_what_was_reserved_and_certified() -> None:
    custodian = Custodian()
    posterior = run(custodian)
    (total,) = custodian.totals
    charged = all_of(custodian.charged.values())
    assert charged == flatten(total)
    assert certify_epsilon(total, 1e-5).epsilon == posterior.statement.epsilon
    assert len(custodian.charged) >= 50


@pytest.mark.parametrize("dies_at", ["reserve", "charge start", "charge chunk-000000"])
def test_records_stay_closed_when_custody_refuses(
    watched: Callable[..., Custodian], dies_at: str
) -> None:
    custodian = watched(dies_at)
    changes = WITH_CONTROL if dies_at == "charge start" else {}
    with pytest.raises(Killed):
        run(custodian, **changes)
    assert "open" not in custodian.log


def test_a_broken_run_goes_on_and_pays_only_for_new_chunks() -> None:
    custodian = Custodian(dies_at="keep chunk-000020")
    with pytest.raises(Killed):
        run(custodian)
    before = dict(custodian.charged)
    kept_parts = [part for name, part in custodian.parts.items() if name != "plan"]
    made = sum(len(part["accepted"]) for part in kept_parts)
    (total,) = custodian.totals
    posterior = run(custodian)
    assert all(custodian.charged[part] == event for part, event in before.items())
    lost = len(before) - 20
    assert lost > 0
    steps = posterior.statement.steps
    kept = posterior.accepted.shape[1] + posterior.warmup_accepted.shape[1]
    assert made < kept < steps
    chunk = custodian.charged["chunk-000000"]
    assert isinstance(chunk, SelfComposedDpEvent)
    assert kept == steps - lost * chunk.count
    assert f"{kept:,} of {steps:,} steps were kept" in posterior.statement.text
    together = all_of(custodian.charged.values())
    assert together == flatten(total)


SHORT = {"epsilon": None, "steps": 100, "chunk": 20}


def broken_off() -> Custodian:
    """A run of 100 bits that died with two chunks of 20 kept, and more charged."""
    custodian = Custodian(dies_at="keep chunk-000002")
    with pytest.raises(Killed):
        run(custodian, **SHORT)
    return custodian


def test_a_run_goes_on_with_the_chunks_that_it_was_begun_with() -> None:
    custodian = broken_off()
    run(custodian, **{**SHORT, "chunk": 1})
    (total,) = custodian.totals
    assert all_of(custodian.charged.values()) == flatten(total)
    assert len(custodian.charged) == 5


def test_other_chunks_than_those_that_were_kept_are_refused(
    watched: Callable[..., Custodian],
) -> None:
    """As of a run that never kept how it is cut into chunks."""
    begun = broken_off()
    custodian = watched()
    custodian.charged, custodian.parts = begun.charged, begun.parts
    del custodian.parts["plan"]
    with pytest.raises(dpmcmc.InputError, match=r"other chunks: .* shape \(20, 1\)"):
        run(custodian, **{**SHORT, "chunk": 1})
    assert custodian.log == ["reserve", "keep plan"]


def test_other_chains_of_the_same_cost_are_refused(
    watched: Callable[..., Custodian],
) -> None:
    begun = broken_off()
    custodian = watched()
    custodian.charged, custodian.parts = begun.charged, begun.parts
    with pytest.raises(dpmcmc.InputError, match="with chains=1 and steps=100; now"):
        run(custodian, **{**SHORT, "chains": 2, "steps": 50})
    assert custodian.log == ["reserve"]


@pytest.mark.parametrize("says_all", [False, True])
def test_a_start_that_was_found_before_is_refused(says_all: bool) -> None:
    """Custody would not be charged with it, but the statement is of it too."""
    model: dpmcmc.Model = MODEL
    records: Any = RECORDS
    told: dict[str, Any] = {"clip": 0.01}
    if says_all:
        model, records = dpmcmc.models.normal((-9, 11), sd=1.0), {"x": RECORDS}
        told = {"control": SufficientStatistics()}
    found = Start(model.initial, np.eye(1), 0.5, 1e-7, "a fit")
    custodian = Custodian()
    told |= {"start": found, "custody": custodian, "progress": False}
    with pytest.raises(dpmcmc.InputError, match="Give start='variational'"):
        dpmcmc.sample(model, records, epsilon=1.0, delta=1e-5, **told)
    assert custodian.log == []


def test_going_on_starts_where_the_kept_chunks_end() -> None:
    custodian = Custodian(dies_at="keep chunk-000020")
    far = {"start": {"mean": 40.0}, "proposal": RandomWalk(1e-6)}
    with pytest.raises(Killed):
        run(custodian, **far)
    custodian.parts["chunk-000019"]["theta-0"][-1] = 7.0
    posterior = run(custodian, **far)
    assert np.allclose(posterior.draws["mean"][:, -100:], 7.0, atol=0.01)


def test_a_proposal_learns_again_what_it_had_learnt() -> None:
    broken = Custodian(dies_at="keep chunk-000030")
    adaptive = Adaptive(RandomWalk(1e-4), until=10**6)
    with pytest.raises(Killed):
        run(broken, proposal=adaptive)
    posterior = run(broken, proposal=adaptive)
    after = min(part for part in broken.parts if part > "chunk-000030")
    moves = np.abs(np.diff(broken.parts[after]["theta-0"].ravel()))
    assert posterior.statement.is_private
    # a walk that had forgotten would move by about 1e-4
    assert moves[moves > 0].max() > 0.01


def test_nothing_is_fitted_again_once_it_was_kept(
    watched: Callable[..., Custodian],
) -> None:
    custodian = watched(dies_at="keep chunk-000003")
    with pytest.raises(Killed):
        run(custodian, **WITH_CONTROL)
    first = len(custodian.log)
    start, control = custodian.parts["start"], custodian.parts["control"]
    posterior = run(custodian, **WITH_CONTROL)
    again = custodian.log[first:]
    assert again[0] == "reserve"
    assert again[1].startswith("charge chunk")
    assert not any("start" in what or "control" in what for what in again)
    assert custodian.parts["start"] is start
    assert custodian.parts["control"] is control
    assert posterior.noise_aware is not None


def test_a_sum_that_was_kept_moves_no_bar(capsys: pytest.CaptureFixture[str]) -> None:
    """No record is added up again, and no bar says that one is."""
    model, records = dpmcmc.models.normal((-9, 11), sd=1.0), {"x": RECORDS}
    custodian = Custodian()
    for is_new in (True, False):
        dpmcmc.sample(
            model,
            records,
            epsilon=1.0,
            delta=1e-5,
            control=SufficientStatistics(),
            custody=custodian,
        )
        assert ("Statistics" in capsys.readouterr().err) == is_new


def test_ctrl_c_returns_the_draws_made_so_far() -> None:
    class Interrupted(Custodian):
        def keep(self, part: str, arrays: Arrays) -> None:
            super().keep(part, arrays)
            if part == "chunk-000030":
                raise KeyboardInterrupt

    custodian = Interrupted()
    posterior = run(custodian)
    kept = posterior.accepted.shape[1] + posterior.warmup_accepted.shape[1]
    assert kept < posterior.statement.steps
    assert posterior.statement.notes[-1].startswith(f"{kept:,} of")
    assert posterior.draws["mean"].shape[1] > 0


def test_a_run_that_kept_nothing_of_all_it_paid_for_says_so() -> None:
    custodian = Custodian()
    run(custodian)
    custodian.parts = {}
    with pytest.raises(dpmcmc.InputError, match="none was kept"):
        run(custodian)
