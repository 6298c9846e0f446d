# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What the page on NumPyro models shows is what happens."""

import re
from pathlib import Path

import numpy as np
import pytest

import dpmcmc

PAGE = (Path(__file__).parents[2] / "docs" / "numpyro.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"```python\n(.*?)```", PAGE, re.S)
TEXT = re.findall(r"```text\n(.*?)```", PAGE, re.S)


def test_the_examples_run(capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(20_000, 2))
    names = {"x": x, "y": x @ [0.5, -1.0] + rng.normal(size=20_000)}
    for example in PYTHON[:2]:
        exec(example, names)
    printed = capsys.readouterr().out
    assert "Privacy: ε = " in printed
    posterior = names["posterior"]
    assert isinstance(posterior, dpmcmc.Posterior)
    assert set(posterior.draws) == {"slope", "sd", "precision"}
    for example in PYTHON[2:]:
        exec(example, names)
    assert capsys.readouterr().out.split() == " ".join(TEXT).split()
    assert set(names["adapted"].initial) == {"weight", "centre"}
