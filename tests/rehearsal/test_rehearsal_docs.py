# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What the page on rehearsals shows is what happens; and its picture."""

import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from dpmcmc.report.rehearsals import plot_rehearsal

PAGE = Path(__file__).parents[2] / "docs" / "rehearsal.md"


@pytest.fixture(scope="module")
def shown() -> dict[str, object]:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    names: dict[str, object] = {}
    exec(code.replace("20_000", "2_000"), names)
    return names


def test_the_page_runs(shown: dict[str, object]) -> None:
    text = str(shown["rehearsal"])
    assert "wide clip" in text
    assert "narrow clip" in text


def test_the_picture_has_a_row_for_each_way(
    shown: dict[str, object], tmp_path: Path
) -> None:
    figure = plot_rehearsal(shown["rehearsal"], tmp_path / "rehearsal.png")  # type: ignore[arg-type]
    pixels = imread(tmp_path / "rehearsal.png")[..., :3]
    assert pixels.std() > 0.05
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == ["wide clip", "narrow clip"]
    assert np.isfinite(figure.axes[0].get_xlim()).all()
