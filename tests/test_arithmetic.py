# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The constants that the boundary and the accountants share are what they claim."""

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmcmc import arithmetic
from dpmcmc.arithmetic import (
    BIT_SLACK,
    CLIP_STEPS,
    LOG_ODDS_LIMIT,
    PUBLIC_LIMIT,
    RECORD_LIMIT,
    log_odds_range,
)
from dpmcmc.errors import (
    InputError,
    require_count,
    require_positive,
    require_probability,
)

UNIT_ROUNDOFF = Fraction(1, 2**53)


def test_sums_of_all_records_fit_int64():
    assert RECORD_LIMIT * CLIP_STEPS <= 2**63 - 1


def test_a_step_is_a_power_of_two_of_the_clip():
    assert math.log2(CLIP_STEPS).is_integer()


def test_beyond_the_limit_the_chance_is_one_up_to_a_word():
    """Clipping the log odds at ±40 changes σ by less than one 53-bit uniform."""
    with mpmath.workprec(100):
        assert 1 / (1 + mpmath.exp(mpmath.mpf(LOG_ODDS_LIMIT))) < mpmath.mpf(2) ** -53


def test_the_slack_of_a_bit_is_that_of_its_proof():
    """First-order errors of σ in units of 2⁻⁵³, at the worst point of fine intervals.

    With e = exp(−|Δ|): e errs by 4 units in its last place; 1 + e and the quotient
    are rounded once each; a chance below ½ may lie between two 53-bit uniforms. What
    is of second order is below 1e-14 of a unit, and the slack has four units.
    """
    assert Fraction(BIT_SLACK) == 4 * UNIT_ROUNDOFF
    at_even_odds = 4 * unit(1) / Fraction(4) + 2 / Fraction(4) + Fraction(1, 2)
    assert at_even_odds == 3
    for k in range(4096):  # e in [k, k + 1) / 4096
        low, high = Fraction(k, 4096), Fraction(k + 1, 4096)
        from_exp = 4 * unit(low or high) / (1 + low) ** 2
        sum_rounds = 1 if high < 1 else 2  # a computed 1 + e may reach 2
        accepts = from_exp + sum_rounds / (1 + low) ** 2 + Fraction(1, 2)
        quotient = min(unit(high / (1 + high)), Fraction(1, 2)) / 2
        refuses = from_exp + sum_rounds * high / (1 + low) ** 2 + quotient + 1
        assert max(accepts, refuses) < Fraction(39, 10)


def unit(x):
    """The unit in the last place of the float64 numbers at x, over 2⁻⁵³."""
    return Fraction(2) ** (math.floor(math.log2(x)) + 1)


@given(
    clip=st.floats(1e-12, 1e6),
    records=st.integers(1, RECORD_LIMIT),
)
def test_the_range_is_at_least_the_exact_bound(clip, records):
    """2B + 2u(3NB + c) in rational numbers, rounded up and not by much."""
    exact = 2 * Fraction(clip) + 2 * UNIT_ROUNDOFF * (
        3 * records * Fraction(clip) + Fraction(PUBLIC_LIMIT)
    )
    computed = Fraction(log_odds_range(clip, records))
    assert exact <= computed <= exact * (1 + 8 * UNIT_ROUNDOFF)


@given(records=st.integers(1, RECORD_LIMIT), clip=st.floats(1e-9, 1e3))
def test_the_range_grows_with_the_clip_and_the_records(records, clip):
    assert log_odds_range(clip, records) > 2 * clip
    assert log_odds_range(clip * 1.01, records) > log_odds_range(clip, records)
    assert log_odds_range(clip, 2 * records) >= log_odds_range(clip, records)


def test_the_rounding_is_small_where_it_should_be():
    """About 1e-11 at N·B = 10⁴, as the accounting supposes."""
    extra = log_odds_range(0.01, 10**6) - 0.02
    assert 1e-12 < extra < 1e-9


def test_every_constant_is_exported_once():
    names = {name for name in vars(arithmetic) if name.isupper() and name[0] != "_"}
    assert names | {"log_odds_range"} == set(arithmetic.__all__)


# The errors that a wrong setting gives


@pytest.mark.parametrize(
    "value", [0, -1, math.nan, math.inf, -math.inf, "1", None, True, 1j, [1.0]]
)
def test_what_is_not_positive_is_refused(value):
    with pytest.raises(InputError, match=r"clip is .* above 0. Make it larger"):
        require_positive("clip", value, "Make it larger.")


@pytest.mark.parametrize("value", [0, 1, -0.1, 1.1, math.nan, "0.5", None, True])
def test_what_is_no_probability_is_refused(value):
    with pytest.raises(InputError, match=r"delta is .* strictly between 0 and 1. Less"):
        require_probability("delta", value, "Less.")


@pytest.mark.parametrize("value", [0, -1, 1.5, 2.0, math.nan, "3", None, True])
def test_what_is_no_count_is_refused(value):
    with pytest.raises(InputError, match=r"chains is .* at least 1. More"):
        require_count("chains", value, "More.")


def test_what_is_allowed_comes_back_as_plain_numbers():
    assert require_positive("x", Fraction(1, 2), "") == 0.5
    assert type(require_positive("x", 3, "")) is float
    assert require_probability("x", 1e-300, "") == 1e-300
    assert require_count("x", 0, "", least=0) == 0
