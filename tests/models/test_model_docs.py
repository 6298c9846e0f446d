# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What docs/models.md shows is what happens."""

import re
from pathlib import Path

import pytest

from dpmcmc import models
from dpmcmc.model import preparation

PAGE = (Path(__file__).parents[2] / "docs" / "models.md").read_text()


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    exec(example, {})
    printed = capsys.readouterr().out
    assert "age clamped to [0, 120], then scaled from [0, 120] to [-1, 1]" in printed
    assert "x shrunk to a length of at most 1.5" in printed
    for name in ("age", "region=1", "region=2"):
        assert f"\ncoefficients[{name}] " in printed
        assert f"`coefficients[{name}]`" in PAGE


@pytest.mark.parametrize("name", models.__all__)
def test_every_model_is_in_the_table(name: str) -> None:
    assert re.search(rf"^\| `{name}\(", PAGE, re.M)


@pytest.mark.parametrize(
    "name", sorted(set(preparation.__all__) - {"Preparation", "Step"})
)
def test_every_step_is_in_the_table(name: str) -> None:
    assert re.search(rf"^\| `{name}\(", PAGE, re.M)
