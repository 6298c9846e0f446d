# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Custody is asked before records are read, and a broken run goes on from its parts."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pytest
from dp_accounting.dp_event import DpEvent, SelfComposedDpEvent

import dpmcmc
from dpmcmc import (
    ControlVariates,
    InputError,
    Posterior,
    RandomWalk,
    Statement,
    SufficientStatistics,
    Variational,
)
from dpmcmc.accounting import certify_epsilon
from dpmcmc.accounting.registry import flatten
from dpmcmc.custody import Arrays
from dpmcmc.private import acceptance, gradients
from dpmcmc.proposals import Adaptive
from dpmcmc.rehearsal import Chosen
from dpmcmc.rehearsal.shares import Split
from dpmcmc.variational import Start

RECORDS = np.random.default_rng(3).normal(1.0, 1.0, 400)
MODEL = dpmcmc.Model(
    log_likelihood=lambda theta, x: -0.5 * (x - theta["mean"]) ** 2,
    log_prior=lambda theta: -0.005 * theta["mean"] ** 2,
    initial={"mean": 0.0},
)


def all_of(events: Iterable[DpEvent]) -> Counter[DpEvent]:
    return sum((flatten(event) for event in events), start=Counter())


class Killed(BaseException):
    """Stands for a process that dies: nothing is tidied up."""


class Custodian:
    """Keeps everything in memory, writes down what happens, and dies when told."""

    def __init__(self, dies_at: str = "") -> None:
        self.log: list[str] = []
        self.totals: Sequence[DpEvent] = ()
        self.statement: Statement | None = None
        self.charged: dict[str, DpEvent] = {}
        self.parts: dict[str, Arrays] = {}
        self.dies_at = dies_at

    def reserve(self, totals: Sequence[DpEvent], statement: Statement) -> None:
        self.totals, self.statement = totals, statement
        self._note("reserve")

    def charge(self, part: str, event: DpEvent) -> None:
        assert part not in self.charged
        self._note(f"charge {part}")
        self.charged[part] = event

    def is_charged(self, part: str) -> bool:
        return part in self.charged

    def keep(self, part: str, arrays: Arrays) -> None:
        self._note(f"keep {part}")
        assert part not in self.parts
        self.parts[part] = {name: np.array(value) for name, value in arrays.items()}

    def kept(self, part: str) -> Arrays | None:
        return self.parts.get(part)

    def _note(self, what: str) -> None:
        if what == self.dies_at:
            self.dies_at = ""
            raise Killed(what)
        self.log.append(what)


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


def run(custodian: Custodian, **changes: Any) -> Posterior:
    told: dict[str, Any] = {
        "epsilon": 1.0,
        "delta": 1e-5,
        "clip": 0.01,
        "proposal": RandomWalk(0.1),
    }
    told = {name: value for name, value in {**told, **changes}.items() if value != ""}
    return dpmcmc.sample(MODEL, RECORDS, custody=custodian, progress=False, **told)


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


def test_one_call_reserves_every_way_and_takes_up_its_choice() -> None:
    told = {"clip": "", "proposal": ""}
    custodian = Custodian(dies_at="keep chunk-000003")
    with pytest.raises(Killed):
        run(custodian, **told)
    kept = Chosen.of_arrays(custodian.parts["choice"])
    assert len(custodian.totals) > 1
    posterior = run(custodian, **told)
    said = " ".join(posterior.settings["choice"].split())
    assert said.startswith(f"Way: {kept.name}; as chosen before")
    assert kept.words in said
    # what was rehearsed before is not said to be blind now, and the other way round
    assert ("chosen without a rehearsal" in posterior.statement.text) == bool(
        custodian.parts["choice"]["blind"]
    )
    custodian.parts["choice"] = {**custodian.parts["choice"], "blind": np.array(False)}
    again = run(custodian, **told).statement.text
    assert "chosen without a rehearsal" not in again
    charged = all_of(custodian.charged.values())
    assert charged in [flatten(total) for total in custodian.totals]


def broken_off_after_its_choice() -> Custodian:
    custodian = Custodian(dies_at="charge control")
    with pytest.raises(Killed):
        run(custodian, clip="", proposal="")
    return custodian


def test_a_run_goes_on_with_all_that_was_chosen() -> None:
    """Share, part and bound are those that were kept, as plain arrays."""
    custodian = broken_off_after_its_choice()
    chosen = Chosen("control variates", Split(0.75, 0.3, 6.0))
    custodian.parts["choice"] = chosen.as_arrays()
    posterior = run(custodian, clip="", proposal="")
    said = " ".join(posterior.settings["choice"].split())
    assert said.startswith("Way: control variates; as chosen before")
    assert chosen.words in said
    assert "the gradient is longer than 6 or" in posterior.statement.text
    charged = all_of(custodian.charged.values())
    assert charged in [flatten(total) for total in custodian.totals]


@pytest.mark.parametrize(
    ("chosen", "steps"),
    [
        (Chosen("control variates", Split(0.75, 0.3, 6.0), None, 4), 1000),
        (Chosen("plain clipping", None, 100.0, 2), 1500),
    ],
)
def test_a_run_goes_on_with_the_chains_and_the_tempering_that_were_kept(
    chosen: Chosen, steps: int
) -> None:
    """Also when it is broken off once more, and for what was set aside for one chain.

    A walk is made of the start, which has the shape of the tempered posterior.
    """
    custodian = broken_off_after_its_choice()
    custodian.parts["choice"] = chosen.as_arrays()
    custodian.dies_at = "keep chunk-000003"
    with pytest.raises(Killed):
        run(custodian, clip="", proposal="")
    posterior = run(custodian, clip="", proposal="")
    statement = posterior.statement
    assert (statement.chains, statement.steps) == (chosen.chains, steps)
    assert statement.tempered == (chosen.tempering or len(RECORDS))
    if chosen.tempering is not None:
        shape = custodian.parts["start"]["covariance"] * len(RECORDS) / chosen.tempering
        assert repr(RandomWalk(0.8**2 * shape)) == posterior.settings["proposal"]
    charged = all_of(custodian.charged.values())
    assert charged in [flatten(total) for total in custodian.totals]


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


@pytest.mark.parametrize(
    ("kept", "words"),
    [
        ({"way": np.array("shrinking"), "blind": np.array(True)}, "another version"),
        (Chosen("by hand").as_arrays(), "'by hand', which is no way for this model"),
        (
            Chosen("plain clipping", None, None, 3).as_arrays(),
            "'plain clipping', which",
        ),
        (
            Chosen("plain clipping", None, None, 0).as_arrays(),
            "'plain clipping', which",
        ),
        (
            Chosen("plain clipping", Split(0.9, 0.3, 6.0)).as_arrays(),
            "'plain clipping', which",
        ),
        (
            Chosen("control variates", Split(0.5, 0.3, 6.0)).as_arrays(),
            "'control variates', which",
        ),
    ],
)
def test_a_choice_that_cannot_be_taken_up_is_refused(
    kept: dict[str, np.ndarray], words: str
) -> None:
    custodian = broken_off_after_its_choice()
    custodian.parts["choice"] = kept
    charged = dict(custodian.charged)
    with pytest.raises(InputError, match=words):
        run(custodian, clip="", proposal="")
    assert custodian.charged == charged


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
