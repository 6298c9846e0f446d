# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A correction is exactly symmetric, checked, and evaluates its distribution."""

import math
from dataclasses import FrozenInstanceError
from functools import partial

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmcmc import GaussianBarker, MinibatchBarker, RandomWalk
from dpmcmc.correction import Correction
from dpmcmc.errors import InputError
from dpmcmc.sampling.problem import make_problem
from dpmcmc.sampling.sample import plan_run

MIXED = Correction.symmetric(2.0, [0.0, 1.0, 3.0], [0.0, 0.5, 2.0], [0.5, 0.3, 0.2])


@given(
    st.lists(
        st.tuples(st.floats(1e-6, 30.0), st.floats(0.0, 3.0), st.floats(1e-12, 1.0)),
        min_size=1,
        max_size=30,
    ),
    st.booleans(),
)
def test_a_mixture_is_exactly_symmetric_and_its_weights_sum_to_one(parts, centred):
    centres, widths, weights = (np.array(part) for part in zip(*parts, strict=True))
    if centred:
        centres[0] = 0.0
    made = Correction.symmetric(1.5, centres, widths, weights)
    assert math.fsum(made.weights) == 1
    assert made.weights == made.weights[::-1]
    assert made.centres == tuple(-centre for centre in reversed(made.centres))
    # A symmetric distribution has as much above x as below −x, away from its atoms.
    assert made.smoothed_cdf(0.7, 0.1) == pytest.approx(
        1 - made.smoothed_cdf(-0.7, 0.1), abs=1e-14
    )


def test_components_without_weight_are_left_out():
    made = Correction.symmetric(1.0, [0.0, 2.0], [0.0, 0.0], [1.0, 0.0])
    assert made.centres == (0.0,)


@pytest.mark.parametrize(
    ("centres", "widths", "weights"),
    [
        ([0.0, -1.0], [0.0, 0.0], [1.0, 1.0]),
        ([0.0, math.nan], [0.0, 0.0], [1.0, 1.0]),
        ([0.0, 1.0], [0.0, 0.0], [0.0, 0.0]),
        ([0.0, 1.0], [0.0, 0.0], [1.0, math.nan]),
        ([0.0, 1.0], [0.0], [1.0, 1.0]),
        ([[0.0, 1.0]], [[0.0, 0.0]], [[1.0, 1.0]]),
        ([0.0, 1.0], [0.0, -1.0], [1.0, 1.0]),
        ([], [], []),
    ],
)
def test_components_that_cannot_be_mirrored_are_refused(centres, widths, weights):
    with pytest.raises(InputError):
        Correction.symmetric(1.0, centres, widths, weights)


@pytest.mark.parametrize(
    "kind", [partial(GaussianBarker, clip=0.1), partial(MinibatchBarker, batch=10)]
)
def test_both_tests_take_a_correction_of_one_s_own(model, records, kind):
    method = kind(variance=2.0, correction=MIXED, proposal=RandomWalk(0.1))
    given = {"start": None, "precision": None, "devices": None}
    problem = make_problem(model, records, **given)
    plan = plan_run(problem, method, epsilon=None, delta=1e-6, steps=10)
    ((event, count),) = plan.events.items()
    assert count == 10
    assert event.positions == MIXED.centres
    assert event.weights == MIXED.weights
    assert event.deviations == MIXED.widths


def test_the_cdf_agrees_with_arbitrary_precision():
    x = np.array([-30.0, -2.0, -0.1, 0.3, 5.0])
    for variance in (0.3, 2.0):
        exact = [
            sum(
                p * mpmath.ncdf((y - m) / mpmath.sqrt(s**2 + variance))
                for m, s, p in zip(
                    MIXED.centres, MIXED.widths, MIXED.weights, strict=True
                )
            )
            for y in x
        ]
        assert MIXED.smoothed_cdf(x, variance) == pytest.approx(
            [float(value) for value in exact], rel=1e-13
        )


def test_the_cdf_jumps_at_an_atom():
    below, at = MIXED.smoothed_cdf(np.array([-1e-12, 0.0]), 0.0)
    assert at - below == pytest.approx(0.5, abs=1e-11)
    assert MIXED.smoothed_cdf(0.0, 0.0).shape == ()
    assert MIXED.smoothed_cdf(np.zeros((2, 3)), 1.0).shape == (2, 3)


@pytest.mark.parametrize("variance", [-0.1, math.nan, math.inf])
def test_a_bad_added_variance_is_refused(variance):
    with pytest.raises(InputError, match="variance"):
        MIXED.smoothed_cdf(0.0, variance)


@pytest.mark.parametrize(
    "changes",
    [
        {"weights": (0.5, 0.6)},
        {"weights": (0.4, 0.6)},
        {"weights": (1.0, 0.0)},
        {"centres": (-1.0, 1.1)},
        {"centres": (1.0, -1.0)},
        {"widths": (0.1, 0.2)},
        {"widths": (-0.1, -0.1)},
        {"widths": (0.1,)},
        {"centres": (-math.inf, math.inf)},
        {"variance": 3.3},
        {"centres": (), "widths": (), "weights": ()},
    ],
)
def test_a_correction_that_is_none_cannot_be_built(changes):
    good = {
        "variance": 1.0,
        "centres": (-1.0, 1.0),
        "widths": (0.1, 0.1),
        "weights": (0.5, 0.5),
    }
    Correction(**good)
    with pytest.raises(InputError):
        Correction(**(good | changes))


def test_a_correction_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        MIXED.variance = 1.0
