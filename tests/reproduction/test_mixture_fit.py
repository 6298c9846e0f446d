# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The mixture minimises the paper's loss from any start, and repeats with its seed."""

import numpy as np
import pytest
from scipy import stats

from dpmcmc import InputError
from dpmcmc.correction import correction_for
from reproduction.mixture_fit import gaussian_mixture
from reproduction.ridge_fit import ridge


def loss(fit):
    """The supplement's loss, written with SciPy on the whole grid."""
    x = np.linspace(-10, 10, 1000)
    scales = np.hypot(fit.widths, np.sqrt(fit.variance))
    smoothed = stats.norm.pdf(x[:, None], fit.centres, scales) @ np.array(fit.weights)
    return float(np.linalg.norm(smoothed - stats.logistic.pdf(x)))


def test_more_iterations_lower_the_loss():
    short = gaussian_mixture(2.0, seed=3, iterations=20)
    longer = gaussian_mixture(2.0, seed=3, iterations=600)
    assert loss(longer) < 0.2 * loss(short)
    assert longer.sup_error() < 0.1 * short.sup_error() < 0.1


def test_a_fit_has_mirrored_components_and_repeats_with_its_seed():
    first, again, other = (
        gaussian_mixture(1.5, seed=seed, iterations=50) for seed in (3, 3, 4)
    )
    assert len(first.weights) == 100
    assert first == again
    assert first != other
    assert min(first.widths) > 0


@pytest.mark.parametrize("variance", [1.5, 2.0])
def test_ridge_is_bad_beyond_one_the_mixture_better_the_programme_best(variance):
    mixture = gaussian_mixture(variance, seed=1, iterations=2000).sup_error()
    programme = correction_for(variance).sup_error()
    assert programme < mixture < 0.1 * ridge(variance).sup_error()


def test_an_impossible_variance_is_refused():
    with pytest.raises(InputError, match=r"C is 3\.5"):
        gaussian_mixture(3.5, seed=1, iterations=1)
