# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The picture of a privacy profile."""

from dataclasses import replace
from pathlib import Path

import pytest
from posteriors import STATEMENT

from dpmcmc import InputError
from dpmcmc.report import plot_profile


def test_a_profile_is_drawn(tmp_path: Path) -> None:
    pairs = ((0.5, 1e-3), (1.0, 1e-6), (1.4, 1e-9))
    path = tmp_path / "profile.png"
    figure = plot_profile(replace(STATEMENT, profile=pairs), path)
    line = figure.axes[0].lines[0]
    assert tuple(zip(*line.get_data(), strict=True)) == pairs
    assert path.stat().st_size > 1000


def test_a_statement_without_a_profile_is_refused() -> None:
    with pytest.raises(InputError):
        plot_profile(replace(STATEMENT, profile=()))
