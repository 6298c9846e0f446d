# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The page about the figures names them all, and its costs are right."""

import re
from pathlib import Path

import pytest

from reproduction.paper_chains import FULL
from reproduction.reproduce import FIGURES

PAGE = (Path(__file__).parents[2] / "docs" / "reproduction.md").read_text("utf-8")
COSTS = re.findall(r"^\| ([\d ]+) \| (0\.\d+) \| ([\d.]+) \|$", PAGE, re.M)


def test_every_figure_is_on_the_page() -> None:
    assert re.findall(r"^\| `(\w+)` \|", PAGE, re.M) == list(FIGURES)


def test_the_costs_are_found() -> None:
    assert len(COSTS) == 3


@pytest.mark.parametrize(("steps", "certified", "paper"), COSTS)
def test_the_costs_are_right(steps: str, certified: str, paper: str) -> None:
    loose, tight = FULL.epsilons(int(steps.replace(" ", "")))
    assert 0 <= float(certified) - tight < 1e-4  # rounded up
    assert float(paper) == pytest.approx(loose, abs=5e-3)
