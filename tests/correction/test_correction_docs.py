# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What the documentation of corrections shows is what they print."""

import doctest
import re
from pathlib import Path

import pytest

from dpmcmc.correction import correction_for

PAGE = Path(__file__).parents[2] / "docs" / "corrections.md"
ROWS = re.findall(
    r"^\| ([\d.]+) \| (\S+) \| (\d+) \|$", PAGE.read_text(encoding="utf-8"), re.M
)


def test_the_examples_run():
    failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert failed == 0
    assert tried > 5


@pytest.mark.parametrize(("variance", "error", "components"), ROWS)
def test_the_table_of_sup_errors_is_right(variance, error, components):
    fit = correction_for(float(variance))
    assert len(fit.weights) == int(components)
    # Shown to two or three figures: wrong by at most half of the second.
    assert fit.sup_error() == pytest.approx(float(error), rel=0.05)


def test_the_table_is_found():
    assert len(ROWS) == 6
