# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of budgets."""

import pytest

from dpmcmc.errors import InputError
from dpmcmc.planning import plan
from dpmcmc.report.budgets import Line, plot_lines, plot_plan


def test_a_picture_shows_its_curves():
    lines = [
        Line("tight", 0, True, ((1, 0.1), (10, 0.3))),
        Line("loose", 0, False, ((1, 0.5), (10, float("inf")))),
    ]
    figure = plot_lines(lines, "steps", "a title", mark=(10, 0.3), budget=1.0)
    axes = figure.axes[0]
    drawn = {line.get_label(): line for line in axes.lines}
    assert drawn["tight"].get_linestyle() == "-"
    assert drawn["loose"].get_linestyle() == "--"
    # An infinite ε is left out, not drawn as something else.
    assert drawn["loose"].get_xdata().tolist() == [1]
    assert axes.get_xscale() == axes.get_yscale() == "log"
    assert axes.get_ylabel() == "ε"
    assert [text.get_text() for text in axes.texts] == ["budget ε = 1"]


def test_the_picture_of_a_plan_marks_it(tmp_path):
    planned = plan(1000, clip=0.02, steps=50, delta=1e-6)
    figure = plot_plan(planned, tmp_path / "plan.svg")
    drawn = {line.get_label(): line for line in figure.axes[0].lines}
    mark = drawn["this plan"]
    assert (mark.get_xdata()[0], mark.get_ydata()[0]) == (50, planned.epsilon)
    certified, paper = drawn["certified"], drawn["the paper's accountant"]
    assert certified.get_xdata()[-1] == 100
    assert all(certified.get_ydata() < paper.get_ydata())
    assert (tmp_path / "plan.svg").exists()


def test_a_picture_needs_a_known_ending(tmp_path):
    with pytest.raises(InputError, match="must be one of"):
        plot_lines(
            [Line("one", 0, True, ((1, 1),))], "steps", "", path=tmp_path / "b.doc"
        )
