# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What docs/clipping.md shows is what happens."""

import doctest
from pathlib import Path

import pytest

from dpmcmc import clipping

PAGE = Path(__file__).parents[2] / "docs" / "clipping.md"


def test_the_examples_run():
    failed, tried = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert failed == 0
    assert tried == 4


@pytest.mark.parametrize("name", sorted(set(clipping.__all__) - {"Clipping"}))
def test_every_way_is_in_the_table(name):
    assert f"| `{name}()` |" in PAGE.read_text(encoding="utf-8")
