# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints are asked before records are read, and an interrupted run goes on."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpmcmc
from dpmcmc import Barker, Posterior, RandomWalk, Statement, SufficientStatistics
from dpmcmc.accounting import Event, certify_epsilon
from dpmcmc.files import DataFile
from dpmcmc.proposals import Adaptive
from dpmcmc.sampling.checkpoint import MemoryCheckpoint
from dpmcmc.sampling.stages import Events, Part

STEPS = 100
WALK = Barker(clip=0.01, proposal=RandomWalk(0.1))
MODEL = dpmcmc.models.normal((-9.0, 11.0), sd=1.0)
RECORDS = {"x": np.random.default_rng(3).normal(1.0, 1.0, 400)}


class Killed(BaseException):
    """Stands for a process that dies: nothing is tidied up."""


class Watched(MemoryCheckpoint):
    """Writes down what it is asked, and dies when it is asked for one thing."""

    def __init__(self, dies_at: str = "", error: type[BaseException] = Killed) -> None:
        super().__init__()
        self.log: list[str] = []
        self.dies_at, self.error = dies_at, error
        self.total: Events = {}

    def reserve(self, events: Events, statement: Statement) -> None:
        self._note("reserve")
        self.total = dict(events)
        super().reserve(events, statement)

    def charge(self, stage: str, part: str, events: Events) -> None:
        self._note(f"charge {part}")
        assert part not in self.charged(stage)
        super().charge(stage, part, events)

    def keep(self, stage: str, part: Part) -> None:
        self._note(f"keep {part.name}")
        copies = {name: np.array(values) for name, values in part.arrays.items()}
        super().keep(stage, Part(part.name, copies))

    def _note(self, what: str) -> None:
        if what == self.dies_at:
            self.dies_at = ""
            raise self.error
        self.log.append(what)

    def together(self, stage: str = "chain") -> Counter[Event]:
        """All that was ever charged for a stage."""
        return sum(
            (Counter(dict(events)) for events in self.charged(stage).values()),
            start=Counter[Event](),
        )


def run(checkpoint: MemoryCheckpoint, **changes: Any) -> Posterior:
    given: dict[str, Any] = {"method": WALK, "steps": STEPS, "delta": 1e-5}
    if isinstance(changes.get("method"), SufficientStatistics):
        given = {"epsilon": 1.0, "delta": 1e-5}
    records = changes.pop("records", RECORDS)
    given = {**given, "progress": False, **changes}
    return dpmcmc.sample(MODEL, records, checkpoint=checkpoint, **given)


def interrupted_run(**changes: Any) -> Watched:
    """A run that died with some chunks kept, and more charged."""
    checkpoint = Watched(dies_at="keep chunk-000020")
    with pytest.raises(Killed):
        run(checkpoint, **changes)
    return checkpoint


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[DataFile, Watched]:
    """Records in a file, and a checkpoint that writes down when they are read."""
    np.savetxt(tmp_path / "x.csv", RECORDS["x"], header="x", comments="")
    checkpoint, original = Watched(), DataFile.read_values

    def read_values(file: DataFile) -> Any:
        checkpoint.log.append("read")
        return original(file)

    monkeypatch.setattr(DataFile, "read_values", read_values)
    return DataFile(tmp_path / "x.csv", ["x"]), checkpoint


@pytest.mark.parametrize(
    ("method", "first"), [(WALK, "chunk-000000"), (SufficientStatistics(), "sum")]
)
def test_each_part_is_charged_before_the_records_are_read_for_it(
    table: tuple[DataFile, Watched], method: Any, first: str
) -> None:
    records, checkpoint = table
    run(checkpoint, method=method, records=records)
    log = checkpoint.log
    assert log[:3] == ["reserve", f"charge {first}", "read"]
    kept = [what.removeprefix("keep ") for what in log if what.startswith("keep")]
    assert kept
    charged = {what: place for place, what in enumerate(log)}
    reading = kept if method is WALK else kept[:1]  # the rest reads no record
    for part in reading:
        assert charged[f"charge {part}"] < charged[f"keep {part}"]


@pytest.mark.parametrize("dies_at", ["reserve", "charge chunk-000000"])
def test_records_are_not_read_when_a_checkpoint_refuses(
    table: tuple[DataFile, Watched], dies_at: str
) -> None:
    records, checkpoint = table
    checkpoint.dies_at = dies_at
    with pytest.raises(Killed):
        run(checkpoint, records=records)
    assert "read" not in checkpoint.log


def test_what_was_charged_is_what_was_reserved_and_certified() -> None:
    checkpoint = Watched()
    posterior = run(checkpoint)
    assert checkpoint.together() == checkpoint.total
    cost = certify_epsilon(checkpoint.total, 1e-5)
    assert cost.epsilon == posterior.statement.epsilon
    assert len(checkpoint.charged("chain")) >= 50


def test_an_interrupted_run_goes_on_and_pays_for_new_chunks_alone() -> None:
    checkpoint = interrupted_run()
    before, made = checkpoint.charged("chain"), len(checkpoint.kept("chain"))
    assert made == 20
    posterior = run(checkpoint)
    after = checkpoint.charged("chain")
    assert {part: after[part] for part in before} == before
    lost = sum(sum(events.values()) for events in list(before.values())[made:])
    assert lost > 0
    (chain,) = posterior.statement.stages
    assert chain.numbers == {"chains": 1, "steps": STEPS, "made": STEPS - lost}
    kept = posterior.accepted.shape[1] + posterior.warmup_accepted.shape[1]
    assert kept == STEPS - lost
    assert checkpoint.together() == checkpoint.total


@pytest.mark.parametrize("changes", [{"steps": 50}, {"delta": 1e-6, "steps": 101}])
def test_other_events_than_those_of_before_are_refused(changes: Any) -> None:
    checkpoint = interrupted_run()
    before = list(checkpoint.log)
    with pytest.raises(dpmcmc.InputError, match="other settings"):
        run(checkpoint, **changes)
    assert checkpoint.log == [*before, "reserve"]


def test_going_on_starts_where_the_kept_chunks_end() -> None:
    far = {
        "start": {"mean": 40.0},
        "method": Barker(clip=0.01, proposal=RandomWalk(1e-6)),
    }
    checkpoint = interrupted_run(**far)
    checkpoint.kept("chain")[-1].arrays["theta-0"][-1] = 7.0
    posterior = run(checkpoint, **far)
    assert np.allclose(posterior.draws["mean"][:, -50:], 7.0, atol=0.01)


def test_a_proposal_adapts_again_to_what_was_kept() -> None:
    adaptive = {
        "method": Barker(clip=0.01, proposal=Adaptive(RandomWalk(1e-4), until=10**6)),
        "steps": 1000,
    }
    checkpoint = interrupted_run(**adaptive)
    kept = len(checkpoint.kept("chain"))
    run(checkpoint, **adaptive)
    after = checkpoint.kept("chain")[kept].arrays["theta-0"]
    moves = np.abs(np.diff(after.ravel()))
    # a walk that had forgotten would move by about 1e-4
    assert moves[moves > 0].max() > 0.01


def test_a_sum_that_was_kept_is_not_released_again() -> None:
    checkpoint = Watched()
    given = {"method": SufficientStatistics()}
    first = run(checkpoint, **given)
    log = list(checkpoint.log)
    again = run(checkpoint, **given)
    assert checkpoint.log == [*log, "reserve"]
    assert again.statement == first.statement


def test_ctrl_c_returns_the_draws_made_so_far() -> None:
    checkpoint = Watched("keep chunk-000030", KeyboardInterrupt)
    posterior = run(checkpoint)
    (chain,) = posterior.statement.stages
    assert 0 < chain.numbers["made"] < STEPS
    assert "interrupted" in chain.sentence
    assert posterior.draws["mean"].shape[1] > 0


def test_ctrl_c_in_a_chain_leaves_the_stages_after_it() -> None:
    """A chain of control variates is checked, short as it is; then it can go on."""
    checkpoint = Watched("keep chunk-000010", KeyboardInterrupt)
    model = dpmcmc.models.two_component_mixture(bounds=(-9.0, 11.0))
    given = {"epsilon": 1.0, "delta": 1e-5, "progress": False}
    posterior = dpmcmc.sample(model, RECORDS, checkpoint=checkpoint, **given)
    fit, chain, check = posterior.statement.stages
    assert 0 < chain.numbers["made"] < chain.numbers["steps"]
    assert checkpoint.kept(fit.name)
    assert checkpoint.kept(check.name)
    assert posterior.statement.verdict is not None
    whole = dpmcmc.sample(model, RECORDS, checkpoint=checkpoint, **given)
    assert whole.statement.stages[1].numbers["made"] > chain.numbers["made"]


def test_a_run_that_kept_nothing_of_all_it_paid_for_says_so() -> None:
    checkpoint = Watched()
    run(checkpoint)
    checkpoint._kept.clear()
    with pytest.raises(dpmcmc.InputError):
        run(checkpoint)
