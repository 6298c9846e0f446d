# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What a private start costs, settled before any record is read."""

import pytest
from dp_accounting.dp_event import SelfComposedDpEvent

from dpmcmc.accounting import GaussianBatchSum, certify_epsilon
from dpmcmc.errors import InputError
from dpmcmc.variational import Variational


def test_a_plan_costs_no_more_than_its_own_epsilon():
    plan = Variational(epsilon=0.2).plan(10**6, 1e-6)
    cost = certify_epsilon(plan.event, 1e-6).epsilon
    assert 0.199 < cost <= 0.2
    one = GaussianBatchSum(plan.noise_multiplier, 4000, 10**6)
    assert plan.event == SelfComposedDpEvent(one, 1000)


def test_a_share_is_of_the_epsilon_of_the_run():
    fifth = Variational(steps=50).plan(5000, 1e-5, epsilon=1.0)
    same = Variational(steps=50, epsilon=0.2).plan(5000, 1e-5)
    assert fifth.noise_multiplier == same.noise_multiplier
    half = Variational(steps=50, share=0.5).plan(5000, 1e-5, epsilon=1.0)
    assert half.noise_multiplier < fifth.noise_multiplier


def test_a_delta_of_its_own_takes_the_place_of_the_run_s():
    own = Variational(steps=50, epsilon=0.2, delta=1e-8).plan(5000, 1e-5)
    assert certify_epsilon(own.event, 1e-8).epsilon <= 0.2


def test_a_small_data_set_is_read_whole():
    plan = Variational(epsilon=1.0, steps=20).plan(300, 1e-5)
    assert plan.batch == 300


def test_the_words_of_a_statement():
    plan = Variational(epsilon=1.0, steps=20, guide="mean-field").plan(300, 1e-5)
    assert plan.description.startswith(
        "20 noisy sums (a start by mean-field variational inference), each over a "
        "fresh batch of 300 records, of derivatives of the log-likelihood clipped in "
        "length, with normal noise of "
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epsilon": 0.0}, r"epsilon is 0.0; it must be a finite number above 0"),
        ({"share": 1.0}, r"share is 1.0; it must lie strictly between 0 and 1"),
        ({"epsilon": 1.0, "share": 0.5}, r"give one of the two"),
        ({"delta": 0}, r"delta is 0; it must lie strictly between 0 and 1"),
        ({"guide": "flow"}, r"guide is 'flow'; .* 'mean-field', 'full-rank'"),
        ({"steps": 9}, r"steps is 9; it must be a whole number of at least 10"),
        ({"batch": 0}, r"batch is 0; it must be a whole number of at least 1"),
        ({"clip": -1.0}, r"clip is -1.0; it must be a finite number above 0"),
        ({"learning_rate": "fast"}, r"learning_rate is 'fast'"),
        ({"pairs": 0}, r"pairs is 0; it must be a whole number of at least 1"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        Variational(**settings)


def test_a_batch_beyond_the_records_is_refused():
    with pytest.raises(InputError, match=r"batch is 301; .* the 300 records"):
        Variational(epsilon=1.0, batch=301).plan(300, 1e-5)


def test_a_share_of_nothing_is_refused():
    with pytest.raises(InputError, match=r"share of 0.2 of the run's ε, but the run"):
        Variational().plan(300, 1e-5)


def test_more_records_than_a_batch_can_name_are_refused():
    with pytest.raises(InputError, match=r"there are 4294967295 records; .* at most"):
        Variational(epsilon=1.0).plan(2**32 - 1, 1e-12)
