# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Certified costs stand beside the paper's, and are far below."""

from collections.abc import Callable

import numpy as np
import pytest

from reproduction.drawing import FigureResult
from reproduction.paper_chains import FULL

Draw = Callable[[str], FigureResult]


@pytest.mark.slow
@pytest.mark.parametrize("figure", ["1a", "1b"])
def test_certified_costs_are_far_below_the_papers(draw: Draw, figure: str) -> None:
    drawn = draw(figure)
    _, *columns = drawn.numbers.items()
    assert len(columns) == 6
    for (label, paper), (other, certified) in zip(
        columns[::2], columns[1::2], strict=True
    ):
        assert label.replace("paper", "certified") == other
        assert np.all(np.array(certified) < np.array(paper) / 10)
    styles = {line.get_label(): line.get_linestyle() for line in _lines(drawn)}
    assert styles == {label: "--" if "paper" in label else "-" for label, _ in columns}


def _lines(drawn: FigureResult) -> list:
    return drawn.picture.axes[0].lines


def test_certified_costs_fall_with_the_records_and_the_papers_hardly_do(
    draw: Draw,
) -> None:
    found = draw("1a").numbers
    assert found["N = 10⁵, certified"][1] > 3 * found["N = 10⁶, certified"][1]
    assert found["N = 10⁶, paper"][1] == pytest.approx(
        found["N = 10⁷, paper"][1], rel=0.05
    )


def test_the_cost_of_the_papers_run_is_the_papers(draw: Draw) -> None:
    drawn = draw("1b")
    paper, certified = (
        drawn.numbers[f"b = 1000, {kind}"][-1] for kind in ("paper", "certified")
    )
    assert paper == pytest.approx(1.00042, rel=1e-5)
    assert 0.0200 < certified <= 0.0204
    assert FULL.epsilons(20_000) == pytest.approx((paper, certified))
    assert all(np.all(np.diff(column) > 0) for column in drawn.numbers.values())
    assert "20,000 steps, b = 1000" in drawn.noted[1].quantity
    assert "1.0004" in drawn.noted[1].beside
