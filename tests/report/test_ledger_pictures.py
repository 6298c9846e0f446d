# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The picture of a budget shows its shares, from plain numbers."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from dpmcmc import InputError
from dpmcmc.report.ledgers import plot_ledger


def standing(runs: int) -> SimpleNamespace:
    views = [
        SimpleNamespace(
            run=f"1f3a9c{k:02d}",
            analyst=("ana", "bo")[k % 2],
            purpose="income by age and schooling, second try" if k else "",
            state="open" if k == runs - 1 else "closed",
            spent=0.3 / runs,
            held=0.3 / runs + (0.25 if k == runs - 1 else 0),
        )
        for k in range(runs)
    ]
    shares = (0.3, 0.25, 0.45) if runs else (0.0, 0.0, 1.0)
    spent, reserved, left = shares
    return SimpleNamespace(
        dataset="people",
        records=48_842,
        epsilon=3.0,
        delta=1e-6,
        spent=spent,
        reserved=reserved,
        left=left,
        runs=tuple(views),
    )


@pytest.mark.parametrize("runs", [0, 1, 4, 30])
def test_the_bars_are_the_shares(runs: int, tmp_path: Path) -> None:
    overview = standing(runs)
    path = tmp_path / "budget.png"
    figure = plot_ledger(overview, path)
    assert path.stat().st_size > 10_000
    whole, each = figure.axes
    widths = [bar.get_width() / 100 for bar in whole.patches]
    assert widths == pytest.approx([overview.spent, overview.reserved, overview.left])
    assert len(each.get_yticklabels()) == min(runs, 20)
    assert sum(bar.get_width() for bar in each.patches) == pytest.approx(
        100 * sum(view.held for view in overview.runs[-20:])
    )
    names = whole.get_legend_handles_labels()[1]
    assert [name.split()[0] for name in names] == ["spent", "reserved", "left"]


def test_a_kind_of_file_that_is_not_known_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="its ending must be one of"):
        plot_ledger(standing(1), tmp_path / "budget.doc")
