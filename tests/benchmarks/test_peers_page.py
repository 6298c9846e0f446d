# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Experiments are run cell by cell, and their tables say what was refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.peers import page
from benchmarks.peers.catalogue import EXPERIMENTS
from benchmarks.peers.page import draw, short, tables
from benchmarks.peers.runs import tasks_of


def made_runs() -> list[dict[str, Any]]:
    about = {"row": "binary", "epsilon": 1.0, "seconds": 1.0, "said": ""}
    widths = {
        "dpmcmc, one call": (0.9, 0.95),
        "NA-DPVI": (0.6, 0.95),
        "DPVI": (0.1, 0.0),
    }
    runs: list[dict[str, Any]] = [
        {**about, "method": name, "both": both, "covered": covered, "width": 2.0}
        for name, (both, covered) in widths.items()
    ]
    refused = {"row": "binary", "epsilon": 1.0, "said": "refused: no step"}
    return [*runs, {**refused, "method": "dpmcmc, one call"}]


def cells_of(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_a_table_has_published_figures_and_counts_refusals() -> None:
    lines = list(tables(made_runs()))
    heads = cells_of(next(line for line in lines if line.startswith("| method")))
    rows = {cells_of(line)[0]: cells_of(line) for line in lines if "| 1 |" in line}
    ours = next(cells_of(line) for line in lines if "≤ 0.32" in line)
    assert ours[heads.index("runs")] == "2"
    assert ours[heads.index("refused")] == "1"
    assert ours[2].startswith("0.9 ")
    published = [line for line in lines if "0.41, 0.30" in line]
    assert len(published) == 1
    assert rows


def test_widths_that_do_not_cover_win_nothing() -> None:
    (line,) = [one for one in short(made_runs()) if one.startswith("| 4.")]
    cells = cells_of(line)
    assert cells[2] == "0.9; 1 of 2 refused"
    assert cells[4].startswith("0.6 (NA-DPVI")


@pytest.mark.parametrize("repeats", [1, 7])
def test_every_cell_has_its_runs(repeats: int) -> None:
    tasks = list(tasks_of(["binary", "mixture"], None, repeats, None))
    found: dict[Any, list[int]] = {}
    for task in tasks:
        cell = task.row, task.method, task.epsilon
        found.setdefault(cell, []).extend(task.seeds)
    wanted = sum(
        len(EXPERIMENTS[row].methods) * len(EXPERIMENTS[row].epsilons)
        for row in ("binary", "mixture")
    )
    assert len(found) == wanted
    assert all(sorted(seeds) == list(range(repeats)) for seeds in found.values())


def test_a_picture_is_drawn(tmp_path: Path) -> None:
    path = tmp_path / "picture.png"
    draw(EXPERIMENTS["binary"], made_runs(), path)
    assert path.stat().st_size > 10_000


@pytest.mark.parametrize("name", ["linear", "bernoulli", "binary"])
def test_records_are_the_same_for_the_same_seed(name: str) -> None:
    one, two, other = (EXPERIMENTS[name].make(seed, None) for seed in (3, 3, 4))
    for column, values in one.target.records.items():
        assert np.array_equal(values, two.target.records[column])
        assert not np.array_equal(values, other.target.records[column])


def test_what_was_not_run_stays_on_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few experiments can be run again without the others."""
    docs = Path(page.DOCS)
    (tmp_path / "_static").mkdir()
    (tmp_path / "peers.md").write_text((docs / "peers.md").read_text("utf-8"), "utf-8")
    monkeypatch.setattr(page, "DOCS", tmp_path)
    monkeypatch.setattr(page, "PAGE", tmp_path / "peers.md")
    page.write_page(made_runs())
    before = (docs / "peers.md").read_text("utf-8").splitlines()
    after = (tmp_path / "peers.md").read_text("utf-8").splitlines()
    assert [path.name for path in (tmp_path / "_static").iterdir()] == [
        "peers-binary.png"
    ]
    changed = set(before) ^ set(after)
    assert any("| 1 | 0.9 ± 0 |" in line for line in after)
    cells = {cells_of(line)[0] for line in changed if line.startswith("| ")}
    binary = EXPERIMENTS["binary"]
    methods = {*binary.methods, *binary.published, "", f"4. binary: {binary.score}"}
    assert cells <= methods
