# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A job that was interrupted goes on, and pays only for what is new."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from small_jobs import (
    METHODS,
    MODEL,
    STEPS,
    DeclinedError,
    Died,
    counted,
    dying,
    entries,
    job_in,
    no,
    run_in,
    steps_of,
    without_ledger,
    yes,
)

from dpmcmc import InputError, StoppedError
from dpmcmc.files import FileError, RunFolder
from dpmcmc.ledger import Ledger, LedgerError
from dpmcmc.workflow import (
    FolderCheckpoint,
    LedgerCheckpoint,
    Outcome,
    interrupted,
    load_study,
    resume,
    run,
)
from dpmcmc.workflow.job import facts_of, settled

FIRST_LOST = 5
"""The chunk at whose keeping the process dies."""


def interrupt(
    folder: Path, patch: pytest.MonkeyPatch, at: int = FIRST_LOST + 1, **changes: Any
) -> None:
    """Let a run die while it keeps a part; what it holds stays held."""
    with (
        dead(patch),
        dying(patch, FolderCheckpoint, "keep", at=at),
        pytest.raises(Died),
    ):
        run_in(folder, **changes)


@contextmanager
def dead(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process that dies gives nothing back."""
    with patch.context() as inside:
        inside.setattr(LedgerCheckpoint, "give_back", lambda self: None)
        yield


def go_on(folder: Path, **elsewhere: Any) -> Outcome:
    return resume(folder / "run", ask=no, progress=False, **elsewhere)


def test_a_run_goes_on_and_pays_for_new_chunks_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt(folder, monkeypatch)
    before = entries(folder).count("charge")
    lost = before - FIRST_LOST
    assert lost > 0
    outcome = go_on(folder)
    after = entries(folder)
    assert after.count("charge") == STEPS
    assert after.count("reserve") == after.count("resume") == after.count("close") == 1
    assert steps_of(outcome) == STEPS - lost
    assert outcome.standing is not None
    assert outcome.standing.reserved == 0
    with Ledger.open(folder / "study.db") as ledger:
        assert ledger.verify().ok


def charged_in(folder: Path) -> int:
    """For how many parts a folder says that it was charged."""
    parts = RunFolder.open(folder / "run").parts()
    return sum(one.startswith("charged-") for one in parts)


@pytest.mark.parametrize("method", METHODS)
def test_a_run_of_any_method_goes_on_without_a_ledger(
    folder: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    job = without_ledger(folder, method=method)
    with dying(monkeypatch, FolderCheckpoint, "keep", at=6), pytest.raises(Died):
        run(job, folder / "run", ask=yes, progress=False)
    before, said = charged_in(folder), interrupted(folder / "run")
    with counted(monkeypatch) as read:
        posterior = go_on(folder).posterior
    stages = {stage.name: stage.numbers for stage in posterior.statement.stages}
    numbers = stages["chain"]
    if method == "sufficient-statistics":  # its chain reads no record
        assert before == charged_in(folder) == 1
        assert read == []
        assert numbers["made"] == numbers["steps"]
    elif method == "control-variates":  # it died in the fit, which asks again
        assert read == [None]
        assert "--resume" in said
        assert numbers["made"] == numbers["steps"]
        assert before < charged_in(folder)
    else:
        assert before < charged_in(folder) == STEPS
        assert numbers["made"] == STEPS - (before - FIRST_LOST)


def test_a_finished_run_stays_as_it_is_and_costs_nothing(
    finished: Path, outcome: Outcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = entries(finished)
    with counted(monkeypatch) as read:
        again = go_on(finished, ledger=str(finished / "study.db"))
    assert read == []
    assert entries(finished) == before
    assert (again.posterior.accepted == outcome.posterior.accepted).all()


def test_what_a_dead_run_held_is_given_back_at_its_end(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It died after its last chunk, with nothing left to charge."""
    with (
        dead(monkeypatch),
        dying(monkeypatch, RunFolder, "save_posterior", at=1),
        pytest.raises(Died),
    ):
        run_in(folder)
    assert "close" not in entries(folder)
    assert steps_of(go_on(folder)) == STEPS
    assert entries(folder)[-2:] == ["resume", "close"]


def test_nobody_is_asked_twice_but_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It died after its folder was made, before anything was set aside."""
    job = settled(job_in(folder))
    with dying(monkeypatch, Ledger, "reserve", at=1), pytest.raises(Died):
        run_in(folder)
    assert not (folder / "run").exists()
    digest = "0" * 64
    with RunFolder.create(folder / "run", {"job": facts_of(job), "model": digest}):
        pass
    assert interrupted(folder / "run").startswith("Nothing was spent.")
    with pytest.raises(FileError):
        go_on(folder)
    with RunFolder.open(folder / "run", write=True) as made:
        made.note({"model": load_study(job.model)[1]})
    with pytest.raises(DeclinedError):
        go_on(folder)
    assert steps_of(resume(folder / "run", ask=yes, progress=False)) == STEPS


def test_a_changed_model_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt(folder, monkeypatch)
    (folder / "model.py").write_text(MODEL.replace("11.0", "12.0"))
    with counted(monkeypatch) as read, pytest.raises(FileError, match=r"model\.py"):
        go_on(folder)
    assert read == []
    (folder / "old.py").write_text(MODEL)
    go_on(folder, model=f"{folder}/old.py:model")


def test_moved_files_are_found_where_they_are_now(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt(folder, monkeypatch)
    (folder / "people.csv").rename(folder / "persons.csv")
    (folder / "study.db").rename(folder / "moved.db")
    with pytest.raises(LedgerError, match=r"study\.db' does not exist"):
        go_on(folder)
    with pytest.raises(FileError, match=r"people\.csv"):
        go_on(folder, ledger=str(folder / "moved.db"))
    monkeypatch.chdir(folder)
    go_on(folder, ledger="moved.db", data="persons.csv", analyst="bo")


def test_another_number_of_records_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt(folder, monkeypatch)
    with (folder / "people.csv").open("a") as file:
        file.write("0.5,1\n")
    with counted(monkeypatch) as read, pytest.raises(FileError):
        go_on(folder)
    assert read == []
    with Ledger.open(folder / "study.db") as ledger:
        (view,) = ledger.overview("people").runs
    assert view.state == "open"  # a mistake gives nothing back


def test_other_settings_are_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt(folder, monkeypatch)
    with RunFolder.open(folder / "run", write=True) as made:
        other = replace(settled(job_in(folder)), clip=0.02)
        made.note({"job": facts_of(other)})
    with pytest.raises(FileError):
        go_on(folder)


def test_another_ledger_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt(folder, monkeypatch)
    with Ledger.open(folder / "other.db") as ledger:
        ledger.register("people", records=200, epsilon=9, delta=1e-5)
    with counted(monkeypatch) as read, pytest.raises(InputError):
        go_on(folder, ledger=str(folder / "other.db"))
    assert read == []


def test_a_ledger_that_is_older_than_the_folder_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be charged again for parts that the folder has, and records read."""
    interrupt(folder, monkeypatch, at=3)
    older = (folder / "study.db").read_bytes()
    with (
        dead(monkeypatch),
        dying(monkeypatch, FolderCheckpoint, "charge", at=2),
        pytest.raises(Died),
    ):
        go_on(folder)
    newer = (folder / "study.db").read_bytes()
    (folder / "study.db").write_bytes(older)
    with counted(monkeypatch) as read, pytest.raises(FileError, match="ledger"):
        go_on(folder)
    assert read == []
    assert (folder / "study.db").read_bytes() == older
    (folder / "study.db").write_bytes(newer)
    go_on(folder)


def test_only_places_and_the_analyst_can_be_given_anew(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt(folder, monkeypatch)
    for setting in ("method", "chains", "epsilon", "dataset", "only"):
        with pytest.raises(TypeError, match=setting):
            go_on(folder, **{setting: 1})


def test_a_ledger_cannot_be_added_later(folder: Path) -> None:
    run(without_ledger(folder), folder / "run", ask=yes, progress=False)
    with pytest.raises(InputError, match="without a ledger"):
        go_on(folder, ledger=str(folder / "study.db"))


def test_a_released_run_goes_on_while_there_is_room(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt(folder, monkeypatch)
    with Ledger.open(folder / "study.db") as ledger:
        (view,) = ledger.overview("people").runs
        ledger.release(view.run, "bo")
    assert steps_of(go_on(folder)) < STEPS
    assert entries(folder).count("reserve") == 1


def test_a_sum_that_was_paid_for_and_lost(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt(folder, monkeypatch, at=1, method="sufficient-statistics")
    said = interrupted(folder / "run")
    assert "'sum-sum'" in said
    assert "--resume" not in said
    with counted(monkeypatch) as read, pytest.raises(StoppedError) as caught:
        go_on(folder)
    assert isinstance(caught.value.__cause__, InputError)
    assert read == []
    assert entries(folder).count("charge") == 1


@pytest.mark.parametrize("kept", [1, 2])
def test_ctrl_c_soon_leaves_a_posterior_of_few_draws(
    folder: Path, monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    pressed = {"at": kept + 1, "error": KeyboardInterrupt}
    with dying(monkeypatch, FolderCheckpoint, "keep", **pressed):
        outcome = run_in(folder)
    assert steps_of(outcome) == kept
    assert outcome.report.exists()
    assert str(outcome.posterior)
    assert entries(folder)[-1] == "close"
    assert steps_of(go_on(folder)) < STEPS


def test_ctrl_c_before_anything_was_released_raises(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pressed = {"at": 1, "error": KeyboardInterrupt}
    with (
        dying(monkeypatch, FolderCheckpoint, "keep", **pressed),
        pytest.raises(KeyboardInterrupt),
    ):
        run_in(folder)
    assert entries(folder)[-1] == "close"
    assert steps_of(go_on(folder)) < STEPS


def test_what_is_said_of_an_interrupted_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert interrupted(folder / "run") == "Nothing was spent."
    interrupt(folder, monkeypatch)
    said = interrupted(folder / "run")
    assert "people (ε = 3, δ = 1e-05)" in said
    command = f"dpmcmc sample --resume --out {folder / 'run'}"
    assert said.splitlines()[-1].strip() == command


def test_two_processes_on_one_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt(folder, monkeypatch)
    code = (
        "import sys\nfrom dpmcmc.files import RunFolder\n"
        "with RunFolder.open(sys.argv[1], write=True):\n"
        "    print('locked', flush=True)\n    sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(folder / "run")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "locked\n"
        before = entries(folder)
        with pytest.raises(FileError):
            go_on(folder)
        with pytest.raises(FileError):
            run(job_in(folder), folder / "run", ask=yes, progress=False)
        assert entries(folder) == before
        other.communicate("")
    go_on(folder)
