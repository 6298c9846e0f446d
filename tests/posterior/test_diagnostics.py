# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Effective sizes, R-hat and intervals: the same numbers as ArviZ."""

import subprocess
import sys
import warnings

import arviz as az
import numpy as np
import pytest

from dpmcmc.posterior.diagnostics import (
    bulk_size,
    r_hat,
    shortest_interval,
    tail_size,
)


def chains(count: int, draws: int, correlation: float) -> np.ndarray:
    """Autoregressive chains."""
    noise = np.random.default_rng(draws).standard_normal((count, draws))
    values = np.zeros((count, draws))
    for step in range(draws):
        values[:, step] = correlation * values[:, step - 1] + noise[:, step]
    return values


KINDS = {
    "independent": chains(4, 750, 0.0),
    "slow": chains(4, 750, 0.95),
    "very slow": chains(2, 200, 0.999),
    "alternating": chains(3, 401, -0.8),
    "rejections": np.repeat(chains(4, 250, 0.5), 3, axis=1),
    "rounded": np.round(chains(4, 300, 0.5)),
    "apart": chains(4, 300, 0.5) + np.arange(4)[:, None],
    "one": chains(1, 500, 0.7),
    "few": chains(2, 12, 0.3),
}


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_are_those_of_arviz(kind: str) -> None:
    values = KINDS[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = [az.ess(values, method=name) for name in ("bulk", "tail")]
        expected += [*az.hdi(values.ravel(), hdi_prob=0.94)]
        expected += [az.rhat(values)] if len(values) > 1 else []
    found = [bulk_size(values), tail_size(values), *shortest_interval(values, 0.94)]
    found += [r_hat(values)] if len(values) > 1 else []
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_summary_does_not_import_arviz() -> None:
    code = (
        "import sys, numpy as np; from dpmcmc.posterior.summary import summarise\n"
        "draws = {'a': np.random.default_rng(0).standard_normal((2, 50))}\n"
        "summarise(draws, ['a']); sys.exit('arviz' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
