# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Certified costs stand beside the paper's, and are far below."""

from typing import Any

import numpy as np
import pytest

from reproduction.paper_chains import FULL


@pytest.mark.parametrize("figure", ["1a", "1b"])
def test_certified_costs_are_far_below_the_papers(made: Any, figure: str) -> None:
    _, *columns = made.columns(figure).items()
    assert len(columns) == 6
    for (label, paper), (other, certified) in zip(
        columns[::2], columns[1::2], strict=True
    ):
        assert label.replace("paper", "certified") == other
        assert np.all(certified < paper / 10)


def test_certified_costs_fall_with_the_records_and_the_papers_hardly_do(
    made: Any,
) -> None:
    found = made.columns("1a")
    assert found["N = 10⁵, certified"][1] > 3 * found["N = 10⁶, certified"][1]
    assert found["N = 10⁶, paper"][1] == pytest.approx(
        found["N = 10⁷, paper"][1], rel=0.05
    )


def test_the_cost_of_the_papers_run_is_the_papers(made: Any) -> None:
    found = made.columns("1b")
    paper, certified = (found[f"b = 1000, {kind}"] for kind in ("paper", "certified"))
    assert paper[-1] == pytest.approx(1.00042, rel=1e-5)
    assert 0.0200 < certified[-1] <= 0.0204
    assert FULL.epsilons(20_000) == pytest.approx((paper[-1], certified[-1]))
    assert all(np.all(np.diff(column) > 0) for column in found.values())
    rows = [line for line in made.summary.splitlines() if line.startswith("| 1b")]
    assert len(rows) == 3
    assert "paper's accountant 1.0004" in rows[1]
