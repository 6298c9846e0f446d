# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The command ``dpmcmc rehearse`` hands a study to `dpmcmc.rehearse`, and prints."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_jobs import RECORDS, counted, entries

import dpmcmc as package
from dpmcmc.rehearsal.rehearse import Rehearsal, Trial

Command = Callable[..., Any]
WORDS = "rehearse model.py:model --epsilon 1 --delta 1e-6"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, Any, dict[str, Any]]]:
    """What `dpmcmc.rehearse` was given; it returns two trials, one of them hopeless."""
    calls: list[tuple[Any, Any, dict[str, Any]]] = []
    good = Trial("default", np.array([0.5]), np.array([1.2]), 300.0, 0.4, "")
    bad = Trial("default", np.array([np.inf]), np.array([np.inf]), 0.0, 0.0, "no")

    def rehearse(model: Any, records: Any, **given: Any) -> Rehearsal:
        calls.append((model, records, given))
        return Rehearsal(RECORDS, 1.0, 1e-6, (good, bad), None)  # type: ignore[arg-type]

    monkeypatch.setattr("dpmcmc.rehearsal.rehearse.rehearse", rehearse)
    return calls


def test_only_the_schema_of_a_data_file_is_read(
    dpmcmc: Command, folder: Path, asked: list, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "schema.yaml").write_text("columns: {x: {type: number, bounds: [-2, 2]}}")
    with counted(monkeypatch) as read:
        said = dpmcmc(f"{WORDS} --data people.csv --schema schema.yaml --runs 3")
    assert (said.code, said.err, read) == (0, "", [])
    ((model, records, given),) = asked
    assert isinstance(model, package.Model)
    assert model.preparation.describe()[0] == "x clamped to [-2, 2]"
    np.testing.assert_array_equal(records["x"], np.zeros(RECORDS))
    assert (given["epsilon"], given["delta"], given["runs"]) == (1.0, 1e-6, 3)
    assert given["methods"] == {"default": None}
    assert entries(folder) == ["register"]
    assert str(RECORDS) in said.out


def test_methods_are_compared(dpmcmc: Command, asked: list) -> None:
    how = "--method barker --method gaussian-barker --clip 0.1 --scale 0.2 --steps 50"
    said = dpmcmc(f"{WORDS} --records 300 {how} --json")
    assert said.code == 0
    ((_, records, given),) = asked
    assert len(records["x"]) == 300
    assert [type(one) for one in given["methods"].values()] == [
        package.Barker,
        package.GaussianBarker,
    ]
    assert given["steps"] == 50
    values = json.loads(said.out)
    assert values["trials"][0]["error"] == [0.5]
    assert values["trials"][1]["width"] == [None]


def test_what_a_rehearsal_refuses(dpmcmc: Command, asked: list) -> None:
    assert dpmcmc(WORDS).refusal
    assert dpmcmc(f"{WORDS} --records 0").refusal
    assert dpmcmc(f"{WORDS} --records 9 --method barker --batch 5").refusal
    assert "--epsilon" in dpmcmc("rehearse model.py:model --delta 1e-6").refusal
    assert asked == []
