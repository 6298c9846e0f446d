# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What the page on proposals shows is what happens."""

import re
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from words import moves

from dpmcmc import proposals

PAGE = (Path(__file__).parents[2] / "docs" / "proposals.md").read_text("utf-8")


@pytest.fixture(scope="module")
def names():
    """What the page's code defines, run from top to bottom."""
    found = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.S):
        exec(block.replace("seed=1", "seed=1, progress=False"), found)
    return found


def test_the_example_finds_the_change(names):
    """The truth is day 12, means 0 and 1, not wide; 2000 records leave no doubt."""
    draws = names["posterior"].draws
    assert draws["change"].dtype == np.int32
    assert draws["wide"].dtype == bool
    assert draws["mean"].dtype == np.float32
    assert np.mean(np.abs(draws["change"] - 12) <= 1) > 0.9
    assert np.mean(draws["wide"]) < 0.1
    assert abs(np.mean(draws["mean"][..., 1]) - 1) < 0.1


def test_the_walk_on_the_unit_interval_stays_in_it(names):
    proposed, log_ratio = moves(names["walk"], jnp.float32(0.05), 2000, seed=22)
    assert np.all((proposed >= 0) & (proposed <= 1))
    assert not np.any(log_ratio)
    assert 0.08 < np.mean(proposed) < 0.25


def test_every_proposal_is_in_the_table():
    rows = set(re.findall(r"^\| `(\w+)\(", PAGE, re.M))
    made = {
        name
        for name in proposals.__all__
        if hasattr(getattr(proposals, name), "fit") and name != "Proposal"
    }
    assert rows == made
