# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The loop: charge, run, keep; and what is kept when a run does not reach its end."""

import pytest
from toys import CONTEXT, Draws, Log, Toy, planned, raises

from dpmcmc import InputError, NotUsableError, StoppedError
from dpmcmc.accounting import GaussianRelease
from dpmcmc.sampling.loop import run


@pytest.fixture
def log() -> Log:
    return Log()


def test_each_part_is_charged_then_read_then_kept(log: Log) -> None:
    plan = planned([Toy("one", log), Toy("two", log, parts=2)])
    posterior = run(plan, CONTEXT, log)
    assert log.lines == [
        "reserve",
        *("charge one 0", "read one 0", "keep one 0"),
        *("charge two 0", "read two 0", "keep two 0"),
        *("charge two 1", "read two 1", "keep two 1"),
    ]
    assert posterior.draws["theta"].tolist() == [[0.0, 1.0]]
    assert [row.numbers["kept"] for row in posterior.statement.stages] == [1, 2]


def test_the_whole_cost_is_reserved_with_the_statement_before_anything(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = planned([Toy("one", log), Toy("two", log, parts=2)])
    given = []
    monkeypatch.setattr(log, "reserve", lambda *all_: given.append(all_))
    run(plan, CONTEXT, log)
    assert given == [({GaussianRelease(0.1): 3}, plan.statement({}))]


def test_a_refusal_to_reserve_leaves_everything_alone(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise InputError("no budget is left.")

    monkeypatch.setattr(log, "reserve", refuse)
    with pytest.raises(InputError, match="no budget"):
        run(planned([Toy("one", log)]), CONTEXT, log)
    assert log.lines == []


# An objection.


def test_an_objection_stops_before_the_rest_is_spent(log: Log) -> None:
    plan = planned([Toy("one", log, objects="too noisy"), Toy("two", log)])
    with pytest.raises(NotUsableError) as stopped:
        run(plan, CONTEXT, log)
    assert (stopped.value.stage, stopped.value.reason) == ("one", "too noisy")
    assert log.lines == ["reserve", "charge one 0", "read one 0", "keep one 0"]
    rows = stopped.value.statement.stages
    assert [row.numbers["kept"] for row in rows] == [1, 0]
    assert stopped.value.statement.epsilon == plan.certificate.epsilon
    assert not log.charged("two")


def test_an_objection_is_made_again_when_the_run_goes_on(log: Log) -> None:
    plan = planned([Toy("one", log, objects="too noisy"), Toy("two", log)])
    for _ in range(2):
        with pytest.raises(NotUsableError):
            run(plan, CONTEXT, log)
    assert log.lines.count("charge one 0") == 1


# Failures.


def test_a_failure_before_anything_is_charged_is_raised_as_it_is(log: Log) -> None:
    class Unpaid(Toy):
        def run(self, *_: object) -> None:
            raise InputError("something given cannot be used.")

    with pytest.raises(InputError):
        run(planned([Unpaid("one", log)]), CONTEXT, log)


@pytest.mark.parametrize("stage", ["one", "two"])
def test_a_failure_after_a_charge_keeps_the_checkpoint(log: Log, stage: str) -> None:
    error = MemoryError("of the machine")
    fails = {stage: raises(error, at=1)}
    stages = [
        Toy(name, log, parts=2, fails=fails.get(name, lambda _: None))
        for name in ("one", "two")
    ]
    with pytest.raises(StoppedError) as stopped:
        run(planned(stages), CONTEXT, log)
    assert stopped.value.stage == stage
    assert stopped.value.checkpoint is log
    assert stopped.value.__cause__ is error
    assert [part.name for part in log.kept(stage)] == ["0"]
    assert list(log.charged(stage)) == ["0", "1"]


def test_a_failure_between_charges_is_one_after_a_charge(log: Log) -> None:
    """The second stage fails before its own charge; the first has been paid for."""

    class Unpaid(Toy):
        def run(self, *_: object) -> None:
            raise InputError("nothing fits what was released.")

    with pytest.raises(StoppedError) as stopped:
        run(planned([Toy("one", log), Unpaid("two", log)]), CONTEXT, log)
    assert stopped.value.stage == "two"
    assert not log.charged("two")


def test_what_is_no_error_is_not_dressed_up(log: Log) -> None:
    class Killed(BaseException):
        """Stands for a process that dies."""

    stage = Toy("one", log, parts=2, fails=raises(Killed(), at=1))
    with pytest.raises(Killed):
        run(planned([stage]), CONTEXT, log)
    assert [part.name for part in log.kept("one")] == ["0"]


# The keyboard.


@pytest.fixture(autouse=True)
def draws_stand_for_a_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpmcmc.sampling.loop.Chain", Draws)


def interrupted(kind: type[Toy], name: str, log: Log, at: int) -> Toy:
    return kind(name, log, parts=3, fails=raises(KeyboardInterrupt(), at))


def test_draws_are_returned_when_their_stage_is_interrupted(log: Log) -> None:
    """Stages that come after are not begun."""
    stages = [Toy("one", log), interrupted(Draws, "two", log, at=2), Toy("last", log)]
    plan = planned(stages)
    posterior = run(plan, CONTEXT, log)
    assert posterior.draws["theta"].tolist() == [[0.0, 1.0]]
    kept = [row.numbers["kept"] for row in posterior.statement.stages]
    assert kept == [1, 2, 0]
    assert posterior.statement.epsilon == plan.certificate.epsilon
    assert not log.charged("last")


def test_draws_are_returned_when_a_later_stage_is_interrupted(log: Log) -> None:
    stages = [Draws("two", log, parts=2), interrupted(Toy, "last", log, at=0)]
    posterior = run(planned(stages), CONTEXT, log)
    assert posterior.draws["theta"].tolist() == [[0.0, 1.0]]


@pytest.mark.parametrize(
    ("kind", "at"), [(Toy, 2), (Draws, 0)], ids=["no chain", "no draw"]
)
def test_an_interruption_without_draws_is_raised(
    log: Log, kind: type[Toy], at: int
) -> None:
    stages = [Toy("one", log), interrupted(kind, "two", log, at=at)]
    with pytest.raises(KeyboardInterrupt):
        run(planned(stages), CONTEXT, log)


def test_a_run_goes_on_from_what_was_kept(log: Log) -> None:
    """Nothing is charged or read twice, and a part that was lost stays lost."""
    first = Toy("one", log)
    once = run(planned([first, interrupted(Draws, "two", log, at=1)]), CONTEXT, log)
    assert once.draws["theta"].tolist() == [[0.0]]
    again = run(planned([first, Draws("two", log, parts=3)]), CONTEXT, log)
    assert again.draws["theta"].tolist() == [[0.0, 2.0]]
    charges = [line for line in log.lines if line.startswith("charge")]
    assert charges == ["charge one 0", *(f"charge two {k}" for k in range(3))]
    reads = [line for line in log.lines if line.startswith("read")]
    assert reads == ["read one 0", "read two 0", "read two 2"]


def test_a_checkpoint_is_of_one_run(log: Log) -> None:
    run(planned([Toy("one", log)]), CONTEXT, log)
    with pytest.raises(InputError, match="checkpoint"):
        run(planned([Toy("one", log, parts=2)]), CONTEXT, log)
    assert log.lines.count("read one 0") == 1
