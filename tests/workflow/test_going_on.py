# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A job that was broken off goes on, and pays only for what is new."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from small_jobs import (
    CHUNK,
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

from dpmcmc import InputError
from dpmcmc.files import FileError, RunFolder
from dpmcmc.ledger import Ledger, LedgerError
from dpmcmc.workflow import LedgerCustody, Outcome, broken_off, load_study, resume, run
from dpmcmc.workflow.job import facts_of, settled

FIRST_LOST = 5
"""The chunk at whose keeping the process dies; how the run is cut is kept first."""


def break_off(folder: Path, patch: pytest.MonkeyPatch, **changes: Any) -> None:
    """Let a run die while it keeps a chunk; what it holds stays held."""
    with (
        dead(patch),
        dying(patch, RunFolder, "keep", at=FIRST_LOST + 2),
        pytest.raises(Died),
    ):
        run_in(folder, **changes)


@contextmanager
def dead(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process that dies gives nothing back."""
    with patch.context() as inside:
        inside.setattr(LedgerCustody, "give_back", lambda self: None)
        yield


def go_on(folder: Path, **elsewhere: Any) -> Outcome:
    return resume(folder / "run", ask=no, progress=False, **elsewhere)


def test_a_broken_run_goes_on_and_pays_for_new_chunks_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_off(folder, monkeypatch)
    before = entries(folder).count("charge")
    lost = before - FIRST_LOST
    assert lost > 0
    outcome = go_on(folder)
    after = entries(folder)
    assert after.count("charge") == STEPS // CHUNK
    assert after.count("reserve") == after.count("resume") == after.count("close") == 1
    assert steps_of(outcome) == STEPS - CHUNK * lost
    assert outcome.standing is not None
    assert outcome.standing.reserved == 0
    with Ledger.open(folder / "study.db") as ledger:
        assert ledger.verify().ok


def test_a_broken_run_without_a_ledger_goes_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = without_ledger(folder)
    with dying(monkeypatch, RunFolder, "keep", at=12), pytest.raises(Died):
        run(job, folder / "run", ask=yes, progress=False)
    begun = [one for one in RunFolder.open(folder / "run").parts() if "begun" in one]
    outcome = go_on(folder)
    kept = RunFolder.open(folder / "run").parts()
    assert len([one for one in kept if "begun" in one]) == STEPS // CHUNK
    assert len(begun) < STEPS // CHUNK
    assert steps_of(outcome) < STEPS


def test_a_finished_run_stays_as_it_is_and_costs_nothing(
    finished: Path, outcome: Outcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = entries(finished)
    with counted(monkeypatch) as opened:
        again = go_on(finished, ledger=str(finished / "study.db"))
    assert opened == []
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
    assert broken_off(folder / "run").startswith("Nothing was spent. Go on with")
    with pytest.raises(FileError, match="is not what it was"):
        go_on(folder)
    with RunFolder.open(folder / "run", write=True) as made:
        made.note({"model": load_study(job.model).digest})
    with pytest.raises(DeclinedError):
        go_on(folder)
    assert steps_of(resume(folder / "run", ask=yes, progress=False)) == STEPS


def test_a_changed_model_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_off(folder, monkeypatch)
    (folder / "model.py").write_text(MODEL.replace("0.005", "0.006"))
    with counted(monkeypatch) as opened, pytest.raises(FileError) as caught:
        go_on(folder)
    assert "model.py:model is not what it was when" in str(caught.value)
    assert opened == []
    (folder / "old.py").write_text(MODEL)
    go_on(folder, model=f"{folder}/old.py:model")


def test_moved_files_are_found_where_they_are_now(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_off(folder, monkeypatch)
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
    break_off(folder, monkeypatch)
    with (folder / "people.csv").open("a") as file:
        file.write("0.5,1\n")
    with counted(monkeypatch) as opened, pytest.raises(FileError) as caught:
        go_on(folder)
    assert "was begun with other settings" in str(caught.value)
    assert opened == []
    with Ledger.open(folder / "study.db") as ledger:
        (view,) = ledger.overview("people").runs
    assert view.state == "open"  # a mistake gives nothing back


def test_other_settings_are_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_off(folder, monkeypatch)
    with RunFolder.open(folder / "run", write=True) as made:
        other = replace(settled(job_in(folder)), clip=0.02)
        made.note({"job": facts_of(other)})
    with pytest.raises(FileError, match="was begun with other settings"):
        go_on(folder)


def test_another_ledger_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_off(folder, monkeypatch)
    with Ledger.open(folder / "other.db") as ledger:
        ledger.register("people", records=200, epsilon=9, delta=1e-5)
    with (
        counted(monkeypatch) as opened,
        pytest.raises(FileError, match="older than the folder, or another one"),
    ):
        go_on(folder, ledger=str(folder / "other.db"))
    assert opened == []


def test_a_ledger_that_is_older_than_the_folder_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be charged again for names that the folder holds, and records read."""
    with (
        dead(monkeypatch),
        dying(monkeypatch, RunFolder, "keep", at=3),
        pytest.raises(Died),
    ):
        run_in(folder)
    older = (folder / "study.db").read_bytes()
    with (
        dead(monkeypatch),
        dying(monkeypatch, RunFolder, "keep", at=3),
        pytest.raises(Died),
    ):
        go_on(folder)
    newer = (folder / "study.db").read_bytes()
    (folder / "study.db").write_bytes(older)
    with counted(monkeypatch) as opened, pytest.raises(FileError) as caught:
        go_on(folder)
    assert "holds 'chunk-0000" in str(caught.value)
    assert "was never charged: the ledger is older than" in str(caught.value)
    assert "Put back the newer ledger" in str(caught.value)
    assert opened == []
    assert (folder / "study.db").read_bytes() == older
    (folder / "study.db").write_bytes(newer)
    go_on(folder)


def test_only_places_and_the_analyst_can_be_given_anew(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_off(folder, monkeypatch)
    for setting in ("chunk", "chains", "epsilon", "dataset", "only"):
        with pytest.raises(TypeError, match=setting):
            go_on(folder, **{setting: 1})


def test_chunks_stay_as_they_were(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with a version that would cut the run into other chunks."""
    job = without_ledger(folder)
    with dying(monkeypatch, RunFolder, "keep", at=12), pytest.raises(Died):
        run(job, folder / "run", ask=yes, progress=False)
    with RunFolder.open(folder / "run", write=True) as made:
        made.note({"job": facts_of(replace(settled(job), chunk=1))})
    assert steps_of(go_on(folder)) < STEPS
    begun = [one for one in RunFolder.open(folder / "run").parts() if "begun" in one]
    assert len(begun) == STEPS // CHUNK


def test_a_ledger_cannot_be_added_later(folder: Path) -> None:
    run(without_ledger(folder), folder / "run", ask=yes, progress=False)
    with pytest.raises(InputError, match="was begun without a ledger"):
        go_on(folder, ledger=str(folder / "study.db"))


def test_a_released_run_goes_on_while_there_is_room(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_off(folder, monkeypatch)
    with Ledger.open(folder / "study.db") as ledger:
        (view,) = ledger.overview("people").runs
        ledger.release(view.run, "bo")
    assert steps_of(go_on(folder)) < STEPS
    assert entries(folder).count("reserve") == 1


def test_a_start_that_was_paid_for_and_lost(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = {"start": "variational", "scale": None, "clip": None, "epsilon": 2.0}
    with (
        dying(monkeypatch, RunFolder, "keep", at=1),
        pytest.raises(Died),
    ):
        run_in(folder, **started)
    assert broken_off(folder / "run").startswith(
        "Its start was paid for and is lost, so that it cannot go on: begin another "
        "run, in another folder. Of the budget of people"
    )
    with counted(monkeypatch) as opened, pytest.raises(FileError) as caught:
        go_on(folder)
    assert "was broken off during its part 'start', which is paid for and" in str(
        caught.value
    )
    assert opened == []
    assert entries(folder).count("charge") == 1


@pytest.mark.parametrize("kept", [1, 2])
def test_ctrl_c_soon_leaves_a_posterior_of_few_draws(
    folder: Path, monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    pressed = {"at": kept + 2, "error": KeyboardInterrupt}
    with dying(monkeypatch, RunFolder, "keep", **pressed):
        outcome = run_in(folder)
    assert steps_of(outcome) == kept * CHUNK
    assert outcome.report.exists()
    assert str(outcome.posterior)
    assert entries(folder)[-1] == "close"
    assert steps_of(go_on(folder)) < STEPS


def test_what_is_said_of_a_broken_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert broken_off(folder / "run") == "Nothing was spent."
    break_off(folder, monkeypatch)
    said = broken_off(folder / "run")
    assert said.startswith("What was begun stays paid for, and what was made is kept.")
    assert "Of the budget of people (ε = 3, δ = 1e-05), " in said
    command = f"dpmcmc sample --resume --out {folder / 'run'}"
    assert said.endswith(f"Go on with:\n  {command}")


def test_two_processes_on_one_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_off(folder, monkeypatch)
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
        with pytest.raises(FileError, match="is in use: another run is writing to it"):
            go_on(folder)
        with pytest.raises(FileError, match="holds a run already"):
            run(job_in(folder), folder / "run", ask=yes, progress=False)
        assert entries(folder) == before
        other.communicate("")
    go_on(folder)
