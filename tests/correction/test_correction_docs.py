# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What the documentation of corrections shows is what they print."""

import doctest
import re
from pathlib import Path

import pytest

from dpmcmc.correction import correction_for

PAGE = Path(__file__).parents[2] / "docs" / "corrections.md"
ROW = re.compile(r"^\| ([\d.]+) \| (\S+) \((\d+).*?\) \| (\S+) \| (\S+) \|$", re.M)


def test_the_examples_run():
    failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert failed == 0
    assert tried > 5


@pytest.mark.parametrize("row", ROW.findall(PAGE.read_text(encoding="utf-8")))
def test_the_table_of_sup_errors_is_right(row):
    variance, programme, components, mixture, ridge = row
    fit = correction_for(float(variance))
    assert len(fit.weights) == int(components)
    for method, shown in (
        ("linear_programme", programme),
        ("gaussian_mixture", mixture),
        ("ridge", ridge),
    ):
        error = correction_for(float(variance), method).sup_error()
        # Shown to two or three figures: off by at most half of the second.
        assert error == pytest.approx(float(shown), rel=0.05)


def test_the_table_is_found():
    assert len(ROW.findall(PAGE.read_text(encoding="utf-8"))) == 6
