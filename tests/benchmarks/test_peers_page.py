# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Experiments are run cell by cell, and their tables say what was refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.peers import page
from benchmarks.peers.catalogue import EXPERIMENTS
from benchmarks.peers.kept import has_runs, kept_rows, line_of, standing_of_row
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


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The page, to be written on."""
    text = (Path(page.DOCS) / "peers.md").read_text("utf-8")
    (tmp_path / "_static").mkdir()
    (tmp_path / "peers.md").write_text(text, "utf-8")
    monkeypatch.setattr(page, "DOCS", tmp_path)
    monkeypatch.setattr(page, "PAGE", tmp_path / "peers.md")
    return tmp_path


def test_what_was_not_run_stays_on_the_page(copied: Path) -> None:
    """A few cells can be run again without the others."""
    before = (copied / "peers.md").read_text("utf-8").splitlines()
    page.write_page(made_runs())
    after = (copied / "peers.md").read_text("utf-8").splitlines()
    pictures = [path.name for path in (copied / "_static").iterdir()]
    assert pictures == ["peers-binary.png"]
    assert len(before) == len(after)
    changed = [pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]]
    # three cells and a line of the summary
    assert len(changed) == 4
    summary, *cells = [new for _, new in changed]
    assert summary.startswith("| 4. binary: ")
    assert "| 1 | 0.9; 1 of 2 refused | " in summary
    assert [cells_of(line)[2] for line in cells] == ["0.9 ± 0", "0.6 ± 0", "0.1 ± 0"]


def test_a_picture_of_the_page_is_that_of_the_runs(tmp_path: Path) -> None:
    """Of one run a cell, medians are the runs."""
    binary, runs = EXPERIMENTS["binary"], made_runs()[:3]
    rows = kept_rows("\n".join(tables(runs)))
    paths = [tmp_path / f"{index}.png" for index in range(3)]
    draw(binary, runs, paths[0])
    draw(binary, runs[:1], paths[1], rows)
    draw(binary, runs[:1], paths[2])
    first, second, third = (path.read_bytes() for path in paths)
    assert first == second
    assert first != third


def test_the_summary_is_the_same_from_runs_and_from_the_page() -> None:
    runs = made_runs()
    table = "\n".join(tables(runs))
    rows = {"binary": kept_rows(table)}
    ours = [run for run in runs if run["method"].startswith("dpmcmc")]
    (from_runs,), (from_both,) = (
        [line for line in short(some, rows) if line.startswith("| 4.")]
        for some in (runs, ours)
    )
    assert from_runs == from_both


def test_a_row_says_what_it_has() -> None:
    errors = (
        "| NA-DPVI | 0.1 | 46.1 ± 22; by chance 126 | 36 |  | 86.6 | 10 | 2 | 6.3 |"
    )
    published = "|  | 0.3 |  | 35 |  |  |  |  |  |"
    found = kept_rows(f"| method | ε |\n| --- | --- |\n{errors}\n{published}")
    first, second = found["NA-DPVI", "0.1"], found["NA-DPVI", "0.3"]
    assert standing_of_row(first, ["width"]) == (46.1, 22, 126, None, 86.6, 10, 8)
    assert line_of("NA-DPVI", first) == errors
    assert line_of("", second) == published
    assert has_runs(first)
    assert not has_runs(second)
