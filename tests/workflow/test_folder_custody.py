# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What a folder is charged with is never more than was set aside, whoever charges."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from dp_accounting.dp_event import ComposedDpEvent, DpEvent, SelfComposedDpEvent
from hypothesis import given, settings
from hypothesis import strategies as st
from small_jobs import yes

from dpmcmc.accounting import BarkerBit, GaussianRelease
from dpmcmc.accounting.registry import flatten
from dpmcmc.files import FileError, RunFolder
from dpmcmc.ledger.codec import decode
from dpmcmc.workflow import FolderCustody

BIT, OTHER = BarkerBit(0.01, 1000), GaussianRelease(0.1)
TOTALS = [
    SelfComposedDpEvent(BIT, 10),
    ComposedDpEvent([OTHER, SelfComposedDpEvent(BIT, 6)]),
]
STATEMENT: Any = None
"""Nobody looks at it."""


def custody_of(folder: RunFolder) -> FolderCustody:
    custody = FolderCustody(folder, yes)
    custody.reserve(TOTALS, STATEMENT)
    return custody


def begun(folder: RunFolder) -> list[DpEvent]:
    """What a folder says that was charged."""
    parts = [part for part in folder.parts() if part.startswith("begun-")]
    return [decode(json.loads(str(folder.read(part)["event"]))) for part in parts]


def test_more_than_was_set_aside_is_refused_also_by_a_later_process(
    tmp_path: Path,
) -> None:
    with RunFolder.create(tmp_path / "run", {}) as folder:
        custody = custody_of(folder)
        custody.charge("chunk-0", SelfComposedDpEvent(BIT, 4))
        custody.charge("chunk-1", SelfComposedDpEvent(BIT, 4))
    for _ in range(2):
        with RunFolder.open(tmp_path / "run", write=True) as folder:
            custody = custody_of(folder)
            assert custody.is_charged("chunk-1")
            with pytest.raises(FileError, match="more than was set aside for it, with"):
                custody.charge("chunk-2", SelfComposedDpEvent(BIT, 3))
            assert not custody.is_charged("chunk-2")
    with RunFolder.open(tmp_path / "run", write=True) as folder:
        custody_of(folder).charge("chunk-2", SelfComposedDpEvent(BIT, 2))
        assert begun(folder)[0] == SelfComposedDpEvent(BIT, 4)


def test_ways_are_not_mixed(tmp_path: Path) -> None:
    """Each event is in one of the totals, but no total has both."""
    with RunFolder.create(tmp_path / "run", {}) as folder:
        custody = custody_of(folder)
        custody.charge("control", OTHER)
        with pytest.raises(FileError, match="more than was set aside"):
            custody.charge("chunk-0", SelfComposedDpEvent(BIT, 7))
        custody.charge("chunk-0", SelfComposedDpEvent(BIT, 6))


def test_nothing_is_charged_before_something_is_set_aside(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "run", {}) as folder:
        with pytest.raises(FileError, match="more than was set aside"):
            FolderCustody(folder, yes).charge("chunk-0", BIT)
        assert folder.parts() == ()


def test_a_charge_without_its_event_is_of_another_version(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "run", {}) as folder:
        folder.keep("begun-chunk-0", {"some": np.zeros(1)})
        with pytest.raises(FileError, match="did not write down what it charged"):
            FolderCustody(folder, yes)


CHARGES = st.lists(
    st.one_of(
        st.just(OTHER),
        st.integers(0, 7).map(lambda count: SelfComposedDpEvent(BIT, count)),
    ),
    max_size=6,
)


@settings(max_examples=30, deadline=None)
@given(CHARGES)
def test_all_that_was_charged_is_within_a_total(events: list[DpEvent]) -> None:
    """Each charge by a process of its own; those that are refused leave nothing."""
    with TemporaryDirectory() as place:
        with RunFolder.create(place, {}):
            pass
        for number, event in enumerate(events):
            with RunFolder.open(place, write=True) as folder:
                try:
                    custody_of(folder).charge(f"chunk-{number}", event)
                except FileError:
                    continue
        charged = flatten(ComposedDpEvent(begun(RunFolder.open(place))))
    assert any(charged <= flatten(total) for total in TOTALS)
