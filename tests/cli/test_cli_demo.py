# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The demonstration, on fewer records, writes and prints what it promises."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpmcmc import Posterior
from dpmcmc.cli.demo_command import demonstrate


def test_the_demo_shows_both_posteriors_and_the_statement(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On fewer records the private posterior is wider, but finds the same centres."""
    demonstrate(20_000, tmp_path / "new", reference_steps=200)
    printed = capsys.readouterr()
    private = Posterior.load(tmp_path / "new" / "private.nc")
    reference = Posterior.load(tmp_path / "new" / "not-private.nc")
    assert private.statement.is_private
    assert private.statement.epsilon <= 1.0
    assert private.statement.records == 20_000
    assert not reference.statement.is_private
    for chain in (private, reference):
        assert chain.statement.label in printed.out
        middle = np.mean(chain.draws["mean"] + chain.draws["gap"] / 2)
        assert middle == pytest.approx(0.5, abs=0.1)
    assert (tmp_path / "new" / "posterior.png").stat().st_size > 10_000


def test_too_few_records_are_refused(
    dpmcmc: Callable[..., Any], tmp_path: Path
) -> None:
    assert "999" in dpmcmc(f"demo --records 999 --out {tmp_path}/out").refusal
    assert not (tmp_path / "out").exists()
