# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A folder is never charged for more than was reserved, whichever process charges."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_jobs import job_in, yes

from dpmcmc import InputError, Statement
from dpmcmc.accounting import BarkerBit, GaussianRelease
from dpmcmc.files import FileError, RunFolder
from dpmcmc.ledger import Ledger, Tally, tally_of
from dpmcmc.ledger.codec import Events
from dpmcmc.posterior.statement import StageSummary
from dpmcmc.sampling.stages import Part
from dpmcmc.workflow import FolderCheckpoint, LedgerCheckpoint

BIT, NOISE = BarkerBit(0.01, 1000), GaussianRelease(0.1)
TOTAL: Events = {NOISE: 1, BIT: 10}


def statement_of(*stages: str) -> Statement:
    rows = tuple(StageSummary(name, "something.") for name in stages)
    return Statement(1.0, 1e-6, 1000, rows, "zCDP", 1000.0)


STATEMENT = statement_of("sum", "chain")


def reserved(folder: RunFolder) -> FolderCheckpoint:
    checkpoint = FolderCheckpoint(folder, yes)
    checkpoint.reserve(TOTAL, STATEMENT)
    return checkpoint


@contextmanager
def again(path: Path | str) -> Iterator[FolderCheckpoint]:
    """The checkpoint of another process."""
    with RunFolder.open(path, write=True) as folder:
        yield reserved(folder)


def test_more_than_was_reserved_is_refused_also_by_a_later_process(
    tmp_path: Path,
) -> None:
    with RunFolder.create(tmp_path / "run", {}) as folder:
        checkpoint = reserved(folder)
        checkpoint.charge("chain", "a", {BIT: 4})
        checkpoint.charge("chain", "b", {BIT: 4})
    for _ in range(2):
        with again(tmp_path / "run") as checkpoint:
            assert checkpoint.charged("chain") == {"a": {BIT: 4}, "b": {BIT: 4}}
            with pytest.raises(FileError):
                checkpoint.charge("chain", "c", {BIT: 3})
            assert "c" not in checkpoint.charged("chain")
    with again(tmp_path / "run") as checkpoint:
        checkpoint.charge("chain", "c", {BIT: 2})
        checkpoint.charge("sum", "c", {NOISE: 1})
        assert checkpoint.charged("sum") == {"c": {NOISE: 1}}


def test_a_part_is_charged_once_whoever_charges(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "run", {}) as folder:
        checkpoint = reserved(folder)
        checkpoint.charge("chain", "a", {BIT: 1})
        with pytest.raises(FileError):
            checkpoint.charge("chain", "a", {BIT: 1})
    with again(tmp_path / "run") as checkpoint, pytest.raises(FileError):
        checkpoint.charge("chain", "a", {BIT: 1})


def test_parts_are_kept_in_order_and_by_stage(tmp_path: Path) -> None:
    parts = [Part(f"p{number}", {"x": np.arange(number)}) for number in range(3)]
    with RunFolder.create(tmp_path / "run", {}) as folder:
        checkpoint = reserved(folder)
        for part in parts:
            checkpoint.charge("chain", part.name, {BIT: 1})
        checkpoint.keep("chain", parts[1])
        checkpoint.keep("sum", parts[2])
        checkpoint.keep("chain", parts[0])
        assert folder.parts()[-3:] == ("chain-p1", "sum-p2", "chain-p0")
    with again(tmp_path / "run") as checkpoint:
        assert [part.name for part in checkpoint.kept("chain")] == ["p1", "p0"]
        np.testing.assert_array_equal(checkpoint.kept("sum")[0].arrays["x"], [0, 1])
        assert checkpoint.lost == ("chain-p2",)


def test_nothing_is_charged_before_something_is_reserved(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "run", {}) as folder:
        with pytest.raises(FileError):
            FolderCheckpoint(folder, yes).charge("chain", "a", {BIT: 1})
        assert folder.parts() == ()


def test_another_reservation_is_refused(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "run", {}) as folder:
        reserved(folder)
        with pytest.raises(FileError):
            FolderCheckpoint(folder, yes).reserve({BIT: 10}, STATEMENT)


@pytest.mark.parametrize("stages", [("a", "a"), ("a", "a-b"), ("round 1", "round-1")])
def test_stages_whose_parts_could_be_mixed_up_are_refused(
    tmp_path: Path, stages: tuple[str, ...]
) -> None:
    with RunFolder.create(tmp_path / "run", {}) as folder:
        with pytest.raises(InputError):
            FolderCheckpoint(folder, yes).reserve(TOTAL, statement_of(*stages))
        assert "reserved" not in folder.facts


def test_names_of_stages_may_have_spaces(tmp_path: Path) -> None:
    stages = statement_of("round 1", "round 10")
    with RunFolder.create(tmp_path / "run", {}) as folder:
        checkpoint = FolderCheckpoint(folder, yes)
        checkpoint.reserve(TOTAL, stages)
        checkpoint.charge("round 10", "sum", {BIT: 1})
        checkpoint.keep("round 10", Part("sum", {"x": np.zeros(1)}))
        assert folder.parts()[-1] == "round-10-sum"
        assert checkpoint.kept("round 1") == ()
        assert [part.name for part in checkpoint.kept("round 10")] == ["sum"]


CHARGES = st.lists(
    st.one_of(
        st.floats(0.01, 0.1).map(lambda mu: {GaussianRelease(mu): 1}),
        st.integers(0, 7).map(lambda count: {BIT: count}),
    ),
    max_size=6,
)


@settings(max_examples=30, deadline=None)
@given(CHARGES)
def test_all_that_was_charged_is_within_what_was_reserved(charges: list) -> None:
    """Each charge by a process of its own; those that are refused leave nothing."""
    made = Tally()
    with TemporaryDirectory() as place:
        with RunFolder.create(place, {}):
            pass
        for number, events in enumerate(charges):
            with again(place) as checkpoint:
                try:
                    checkpoint.charge("chain", str(number), events)
                except FileError:
                    continue
            made = made.plus(tally_of(events))
        with again(place) as checkpoint:
            found = checkpoint.charged("chain").values()
    charged = Tally()
    for events in found:
        charged = charged.plus(tally_of(events))
    assert charged == made
    assert charged.within(tally_of(TOTAL))


def test_folder_and_ledger_both_know_what_was_charged(folder: Path) -> None:
    events = {BarkerBit(0.01, 200): 2}
    with (
        Ledger.open(folder / "study.db") as ledger,
        RunFolder.create(folder / "run", {}) as made,
    ):
        checkpoint = LedgerCheckpoint(made, yes, ledger, job_in(folder))
        checkpoint.reserve({BarkerBit(0.01, 200): 10}, STATEMENT)
        checkpoint.charge("chain", "a", events)
        assert ledger.charges(made.facts["run"]) == (("chain-a", events),)
        assert FolderCheckpoint(made, yes).charged("chain") == {"a": events}
        checkpoint.give_back()
        assert ledger.overview("people").reserved == 0
