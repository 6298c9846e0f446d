# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Runs on released sums: their draws, what is said of them, what is refused."""

from dataclasses import replace

import numpy as np
import pytest

import dpmcmc
from dpmcmc import InputError, SufficientStatistics, Variational, models
from dpmcmc.accounting import certify_epsilon
from dpmcmc.certified import Settings, check_privately
from dpmcmc.private import Records, Tape
from dpmcmc.surrogates import release_statistics
from dpmcmc.variational import Start


def normal_run(**given):
    x = np.random.default_rng(7).normal(1.0, 2.0, 3000)
    model = models.normal((-9, 11), sd=2.0)
    settings = {
        "epsilon": 2.0,
        "delta": 1e-6,
        "control": SufficientStatistics(),
        "steps": 4000,
        "progress": False,
        **given,
    }
    return dpmcmc.sample(model, {"x": x}, **settings), x, model


def test_a_run_on_sums_asks_nothing_and_says_so():
    """Means within six deviations of about 800 effective draws; deviations 15%."""
    posterior, x, model = normal_run(chains=2)
    statement = posterior.statement
    plan = SufficientStatistics().plan(model.statistics, 3000, 1e-6, 2.0)
    assert statement.epsilon == certify_epsilon(plan.event, 1e-6).epsilon <= 2.0
    assert not statement.asks_records
    assert statement.clip is None
    assert "no accept-or-reject bits of the records" in statement.text
    assert "the released sums say all" in " ".join(statement.text.split())
    assert dpmcmc.Statement.from_json(statement.to_json()) == statement
    plain, aware = (draws["mean"] for draws in (posterior.draws, posterior.noise_aware))
    own = 2.0 / np.sqrt(3000)
    both = np.hypot(own, 10 * plan.noise_multiplier / 3000)
    assert abs(plain.mean() - aware.mean()) < 6 * both / np.sqrt(800)
    np.testing.assert_allclose(plain.std(), own, rtol=0.15)
    np.testing.assert_allclose(aware.std(), both, rtol=0.15)
    assert abs(aware.mean() - x.mean()) < 6 * both


def test_more_steps_cost_nothing():
    model = models.normal((-9, 11), sd=2.0)
    short, long = (
        check_privately(
            Settings(
                model,
                {"x": np.zeros(3000)},
                control=SufficientStatistics(),
                steps=steps,
            ),
            delta=1e-6,
            epsilon=2.0,
        ).statement
        for steps in (100, 100_000)
    )
    assert short.epsilon == long.epsilon


def test_no_record_is_read_after_the_release():
    """A seeded run made again from the kept sum, on records that hold nothing."""
    kept = {}

    class Keeps:
        def reserve(self, totals, statement):
            self.totals = totals

        def charge(self, part, event):
            assert part == "control"
            kept["charged"] = kept.get("charged", 0) + 1

        def is_charged(self, part):
            return part in kept

        def keep(self, part, arrays):
            kept[part] = arrays

        def kept(self, part):
            return kept.get(part)

    first, _, model = normal_run(custody=Keeps())
    again = dpmcmc.sample(
        model,
        {"x": np.full(3000, np.nan)},
        epsilon=2.0,
        delta=1e-6,
        control=SufficientStatistics(),
        steps=4000,
        custody=Keeps(),
        progress=False,
    )
    assert kept["charged"] == 1
    spread = first.noise_aware["mean"].std()
    gap = first.noise_aware["mean"].mean() - again.noise_aware["mean"].mean()
    assert abs(gap) < 8 * spread / np.sqrt(400)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"clip": 0.1}, "clip was given"),
        ({"clipping": dpmcmc.clipping.Shrinking()}, "clipping was given"),
        ({"test": dpmcmc.MinibatchBarker(100)}, "test was given"),
        ({"start": "prior"}, "start was given"),
        ({"start": Variational(share=0.1)}, "start was given"),
        ({"epsilon": None}, "the run has none"),
        ({"control": 3}, "SufficientStatistics"),
    ],
)
def test_what_says_how_records_are_asked_is_refused(given, message):
    with pytest.raises(InputError, match=message):
        normal_run(**given)


def test_a_tempered_run_is_as_wide_as_it_says():
    posterior, *_ = normal_run(tempering=300.0)
    plain, aware = (draws["mean"] for draws in (posterior.draws, posterior.noise_aware))
    np.testing.assert_allclose(plain.std(), 2 / np.sqrt(300), rtol=0.15)
    assert aware.std() > plain.std() * 0.98


def test_a_run_that_is_not_private_can_be_made_again():
    x = np.random.default_rng(7).normal(1.0, 2.0, 300)
    model = models.normal((-9, 11), sd=2.0)
    one, other = (
        dpmcmc.sample_not_private(
            model,
            {"x": x},
            steps=200,
            seed=3,
            control=SufficientStatistics(epsilon=1.0),
            progress=False,
        )
        for _ in range(2)
    )
    assert "NOT PRIVATE" in one.statement.text
    for name in ("draws", "noise_aware"):
        np.testing.assert_array_equal(
            getattr(one, name)["mean"], getattr(other, name)["mean"]
        )


def test_statistics_that_say_nearly_all_leave_the_rest_to_bits():
    """Half of x is stated: bits make up for the other half.

    With no noise to speak of the posterior is that of all records: six deviations of
    about 400 effective draws.
    """
    x = np.random.default_rng(8).normal(0.5, 1.0, 2000)
    model = models.normal((-9, 9), sd=1.0)
    own = model.statistics
    half = replace(
        own, is_exact=False, of_record=lambda record: own.of_record(record) / 2
    )
    model = replace(model, statistics=half)
    posterior = dpmcmc.sample_not_private(
        model,
        {"x": x},
        steps=4000,
        seed=1,
        control=SufficientStatistics(epsilon=1e4),
        proposal=dpmcmc.RandomWalk(0.05),
        progress=False,
    )
    assert posterior.statement.asks_records
    draws = posterior.draws["mean"]
    scale = 1 / np.sqrt(2000)
    assert abs(draws.mean() - x.mean()) < 6 * scale / np.sqrt(400) + 0.05 * scale
    np.testing.assert_allclose(draws.std(), scale, rtol=0.2)


def test_a_private_run_with_bits_on_the_rest():
    """The statement names both, and the cost is within the budget."""
    model = models.normal((-9, 9), sd=1.0)
    about = replace(model.statistics, is_exact=False)
    model = replace(model, statistics=about)
    x = np.random.default_rng(8).normal(0.5, 1.0, 2000)
    posterior = dpmcmc.sample(
        model,
        {"x": x},
        epsilon=2.0,
        delta=1e-6,
        control=SufficientStatistics(),
        steps=1000,
        progress=False,
    )
    assert posterior.statement.epsilon <= 2.0
    assert "sufficient statistics" in posterior.statement.text
    assert "1,000 accept-or-reject bits" in posterior.statement.text
    assert posterior.noise_aware is not None


def test_a_released_sum_can_be_had_by_itself():
    model = models.bernoulli()
    x = np.repeat([0.0, 1.0], [700, 300])
    plan = SufficientStatistics(epsilon=3.0).plan(model.statistics, 1000, 1e-6)
    sums = release_statistics(model, Records({"x": x}), plan, Tape.fresh())
    count = float(sums.told.noisy.total[0]) + 500
    assert abs(count - 300) < 7 * plan.deviation


def test_a_start_that_was_found_before_is_paid_for_besides():
    """As in one call, where statistics are one way among several."""
    start = Start({"mean": np.float32(1.0)}, np.eye(1), 0.5, 1e-7, "a start")
    posterior, _, model = normal_run(start=start, steps=100)
    plan = SufficientStatistics().plan(model.statistics, 3000, 9e-7, 1.5)
    spent = certify_epsilon(plan.event, 9e-7).epsilon + 0.5
    np.testing.assert_allclose(posterior.statement.epsilon, spent, rtol=1e-3)
    assert posterior.statement.epsilon <= 2.0
