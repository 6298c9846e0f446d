# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What the page on sufficient statistics shows is what happens."""

import re
from pathlib import Path

import numpy as np
import pytest

import dpmcmc
from dpmcmc import Model

PAGE = Path(__file__).parents[2] / "docs" / "sufficient_statistics.md"
TEXT = PAGE.read_text("utf-8")


def test_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    first, second, third = re.findall(r"```python\n(.*?)```", TEXT, re.S)
    shown, cells = re.findall(r"```text\n(.*?)```", TEXT, re.S)
    names: dict[str, object] = {}
    exec(first, names)
    assert capsys.readouterr().out == shown
    exec(third, names)
    assert capsys.readouterr().out == cells
    exec(second, names)
    model = names["model"]
    assert isinstance(model, Model)
    counts = np.random.default_rng(2).poisson(2.0, size=5000).astype(float)
    found = dpmcmc.sample_not_private(
        model, counts, steps=400, chains=2, seed=1, progress=False
    )
    assert np.exp(found.draws["log_rate"]).mean() == pytest.approx(2.0, abs=0.1)
