# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The demonstration, on fewer records, writes and says what it promises."""

from pathlib import Path

import numpy as np
import pytest

import dpmcmc
from dpmcmc.experiments.demo import main
from dpmcmc.experiments.mixture import TRUTH, posterior_covariance, simulate_mixture


def test_the_demo_shows_both_posteriors_and_the_statement(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["--records", "20000", "--reference-steps", "200", "--out", str(tmp_path)])
    printed = capsys.readouterr()
    assert "NOT PRIVATE" in printed.out
    assert "Privacy: ε = " in printed.out
    assert "Sampling (NOT PRIVATE)" in printed.err
    private = dpmcmc.Posterior.load(tmp_path / "private.nc")
    reference = dpmcmc.Posterior.load(tmp_path / "not-private.nc")
    assert private.statement.epsilon <= 1.0
    assert not reference.statement.is_private
    assert (tmp_path / "posterior.png").stat().st_size > 10_000


def test_simulated_records_have_the_moments_of_the_model() -> None:
    """Each moment is within 5 standard errors: a false alarm in a million."""
    count = 200_000
    records = simulate_mixture(TRUTH, count, np.random.default_rng(5)).astype(float)
    variance = 2 + TRUTH["gap"] ** 2 / 4
    mean = TRUTH["mean"] + TRUTH["gap"] / 2
    assert abs(records.mean() - mean) < 5 * np.sqrt(variance / count)
    assert abs(records.var() - variance) < 5 * variance * np.sqrt(2 / count)


def test_the_posterior_covariance_shrinks_with_the_records() -> None:
    few = posterior_covariance(TRUTH, 1000, np.random.default_rng(6))
    many = posterior_covariance(TRUTH, 4000, np.random.default_rng(6))
    np.testing.assert_allclose(few, 4 * many)
    assert np.all(np.linalg.eigvalsh(few) > 0)
