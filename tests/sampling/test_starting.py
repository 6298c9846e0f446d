# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Where chains start, what that costs, and how they move from there."""

import json
import math
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from dp_accounting import ComposedDpEvent, SelfComposedDpEvent
from dpmcmc.variational import Start, fit_start
from refusals import MODEL, Sealed, assert_refused, run_openly, run_privately
from runs import all_draws, assert_same_draws, private, seeded

from dpmcmc import InputError, Model, Posterior, RandomWalk, Variational, sample
from dpmcmc.accounting import BarkerBit, certify_epsilon, most_steps
from dpmcmc.influence.choices import ModelCorrection
from dpmcmc.private import Records, Tape

QUICK = Variational(epsilon=0.5, steps=40, batch=50)


def with_prior(model: Model) -> Model:
    return replace(
        model, draw_prior=lambda key: {"mean": jax.random.normal(key, (), float)}
    )


# A point


def test_a_point_is_where_chains_start(model: Model, records: np.ndarray) -> None:
    there = seeded(model, records, start={"mean": 0.7}, proposal=RandomWalk(1e-6))
    np.testing.assert_allclose(there.draws["mean"], 0.7, atol=1e-4)
    assert there.settings["start"] == "{'mean': 0.7}"
    assert there.statement.released_first == ()


def test_a_point_costs_nothing(model: Model, records: np.ndarray) -> None:
    one = private(model, records, steps=20, start={"mean": 0.7})
    two = private(model, records, steps=20)
    assert one.statement.epsilon == two.statement.epsilon


# Draws from the prior


def test_each_chain_may_start_at_a_draw_from_the_prior(
    model: Model, records: np.ndarray
) -> None:
    settings = {"start": "prior", "proposal": RandomWalk(1e-6), "chains": 3}
    first = seeded(with_prior(model), records, **settings)
    starts = all_draws(first, "mean")[:, 0]
    assert len(set(starts.tolist())) == 3
    assert_same_draws(first, seeded(with_prior(model), records, **settings))
    other = seeded(with_prior(model), records, **settings, seed=2)
    assert set(starts.tolist()).isdisjoint(all_draws(other, "mean")[:, 0].tolist())
    assert json.loads(first.settings["start"].replace("'", '"'))["mean"] == (
        pytest.approx(starts.tolist(), abs=1e-3)
    )


def test_private_draws_from_the_prior_differ_from_run_to_run(
    model: Model, records: np.ndarray
) -> None:
    settings = {"start": "prior", "proposal": RandomWalk(1e-6), "steps": 4}
    draws = [
        all_draws(private(with_prior(model), records, **settings), "mean")[0, 0]
        for _ in range(3)
    ]
    assert len(set(draws)) == 3


# A private fit


def test_a_fit_and_the_chain_are_paid_for_together(
    model: Model, records: np.ndarray
) -> None:
    posterior = private(model, records, steps=50, start=QUICK)
    statement = posterior.statement
    event = QUICK.plan(100, 1e-5).event
    bits = SelfComposedDpEvent(BarkerBit(clip=0.05, records=100), 50)
    expected = certify_epsilon(ComposedDpEvent([event, bits]), 1e-5).epsilon
    assert statement.epsilon == expected
    alone = certify_epsilon(event, 1e-5).epsilon
    assert max(alone, certify_epsilon(bits, 1e-5).epsilon) < expected
    assert "Released first: 40 noisy sums" in statement.text
    assert "Released: 50 accept-or-reject bits" in statement.text


def test_a_budget_buys_the_steps_that_the_fit_leaves(
    model: Model, records: np.ndarray
) -> None:
    posterior = private(model, records, epsilon=1.0, start=QUICK, clip=0.05)
    event = QUICK.plan(100, 1e-5, 1.0).event
    bit = BarkerBit(clip=0.05, records=100)
    assert posterior.statement.steps == most_steps(bit, 1.0, 1e-5, event)
    assert 0 < posterior.statement.steps < most_steps(bit, 1.0, 1e-5)
    assert posterior.statement.epsilon <= 1.0


def test_by_name_a_fifth_of_the_budget_finds_the_start(
    model: Model, records: np.ndarray
) -> None:
    posterior = private(
        model, records, epsilon=2.0, start="variational", proposal=None, clip=0.3
    )
    event = Variational().plan(100, 1e-5, 2.0).event
    assert certify_epsilon(event, 1e-5).epsilon == pytest.approx(0.4, rel=1e-3)
    assert posterior.settings["proposal"].startswith("Adaptive(walk=RandomWalk(")
    assert np.all(np.isfinite(posterior.draws["mean"]))


def test_a_fit_that_is_not_private_can_be_made_again(
    model: Model, records: np.ndarray
) -> None:
    one = seeded(model, records, start=QUICK, proposal=None)
    assert_same_draws(one, seeded(model, records, start=QUICK, proposal=None))
    assert not one.statement.is_private


def test_a_good_fit_starts_near_the_posterior_and_shapes_the_walk() -> None:
    """A normal mean with 10⁵ records: within four posterior deviations of it."""
    records = np.random.default_rng(3).normal(0.8, 1.0, 100_000)
    model = Model(
        lambda theta, record: -0.5 * (record - theta) ** 2,
        lambda theta: -0.5 * theta**2,
        0.0,
    )
    posterior = seeded(
        model,
        records,
        steps=10,
        warmup=0,
        start=Variational(epsilon=5.0, steps=400),
        proposal=None,
    )
    assert abs(posterior.draws["theta"][0, 0] - records.mean()) < 0.1


# A start that was found before

AT_ZERO = Model(lambda theta, r: -0.5 * (r - theta) ** 2, lambda t: -0.5 * t**2, 0.0)


def found_start(seed: int | None = None, **changes: Any) -> Start:
    settings = {"epsilon": 0.5, "delta": 1e-6, "steps": 20, "batch": 50, **changes}
    plan = Variational(**settings).plan(100, 1e-5)
    tape = Tape.fresh() if seed is None else Tape.seeded(seed)
    return fit_start(AT_ZERO, Records(np.zeros(100)), plan, tape)


def run_from(start: Start, **changes: Any) -> Posterior:
    return private(AT_ZERO, np.zeros(100), start=start, proposal=None, **changes)


def test_what_is_settled_after_a_start_is_added_to_it() -> None:
    """A clip or a number of steps may have been chosen by it: only sums hold."""
    statement = run_from(found_start(), epsilon=1.0).statement
    alone = certify_epsilon(
        SelfComposedDpEvent(BarkerBit(0.05, 100), statement.steps), 1e-5 - 1e-6
    ).epsilon
    assert statement.delta == 1e-5
    assert alone + 0.5 <= statement.epsilon <= (alone + 0.5) * (1 + 1e-9)
    assert statement.epsilon <= 1.0
    assert "so the costs of both are added" in statement.text


def test_a_start_from_a_seed_serves_no_private_run() -> None:
    start = found_start(seed=3)
    assert math.isinf(start.epsilon)
    with pytest.raises(InputError, match="found with a seed"):
        run_from(start, epsilon=1.0)


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"epsilon": 2.0}, "has used ε = 2"), ({"delta": 1e-5}, "has used δ = 1e-05")],
)
def test_a_start_must_leave_some_of_the_budget(
    changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        run_from(found_start(**changes), epsilon=1.0)


# A Lipschitz model with bounded moves


def lipschitz_model(bound: float | None = 1.0) -> Model:
    """A Laplace likelihood: its slope is at most 1 everywhere."""
    return Model(
        lambda theta, record: -jnp.abs(record - theta),
        lambda theta: -0.5 * theta**2,
        0.0,
        lipschitz=bound,
    )


def bounded(radius: float) -> Any:
    from dpmcmc.proposals import BoundedWalk

    return BoundedWalk(radius)


def test_a_lipschitz_model_with_bounded_moves_needs_no_clip() -> None:
    records = np.random.default_rng(4).laplace(size=500)
    posterior = sample(
        lipschitz_model(),
        records,
        delta=1e-5,
        steps=30,
        proposal=bounded(0.02),
        progress=False,
    )
    clip = posterior.statement.clip
    assert clip is not None
    assert 0.02 <= clip <= 0.02 * (1 + 1e-12)
    assert "no ratio is clipped, if the model's Lipschitz constant 1 is right" in (
        posterior.statement.text
    )


def test_such_a_clip_changes_no_draw() -> None:
    """Against the same chain with a clip a thousand times as wide: no bit differs,
    but for rounding on another grid."""
    records = np.random.default_rng(5).laplace(size=200)
    settings = {"proposal": bounded(0.05), "steps": 400, "precision": "float64"}
    tight = seeded(lipschitz_model(), records, clip=0.05, **settings)
    wide = seeded(lipschitz_model(), records, clip=50.0, **settings)
    np.testing.assert_array_equal(tight.accepted, wide.accepted)


def test_tempering_narrows_such_a_clip() -> None:
    posterior = sample(
        lipschitz_model(),
        np.zeros(500),
        delta=1e-5,
        steps=5,
        tempering=50,
        proposal=bounded(0.02),
        progress=False,
    )
    assert posterior.statement.clip == pytest.approx(0.002)


@pytest.mark.parametrize(
    ("model", "proposal"),
    [
        (lipschitz_model(None), bounded(0.02)),
        (lipschitz_model(), RandomWalk(0.02)),
    ],
)
def test_with_one_of_the_two_a_clip_is_needed(model: Model, proposal: Any) -> None:
    assert_refused(
        lambda: run_privately(model=model, proposal=proposal, clip=None),
        "clip is None",
    )


def test_other_numbers_than_ratios_may_be_clipped_whatever_the_constant() -> None:
    """A Lipschitz constant bounds ratios, not what clipping methods make of them."""
    model = replace(
        lipschitz_model(),
        simulate=lambda theta, key, _: theta + jax.random.laplace(key),
    )
    settings = {"proposal": bounded(0.02), "clipping": ModelCorrection()}
    text = seeded(model, np.zeros(50), clip=0.05, steps=5, **settings).statement.text
    assert "no ratio is clipped" not in text
    assert_refused(
        lambda: run_privately(model=model, clip=None, **settings), "clip is None"
    )


def test_a_clip_below_the_bound_is_not_said_to_touch_nobody() -> None:
    settings = {"proposal": bounded(0.02), "steps": 5}
    text = seeded(lipschitz_model(), np.zeros(50), clip=0.01, **settings).statement.text
    assert "no ratio is clipped" not in text


# Refusals, before any record is read

GOOD = {"start": QUICK, "records": Sealed()}


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"start": "mode"}, ["start is 'mode'", "'prior', 'variational'"]),
        ({"start": "prior"}, ["no draw_prior"]),
        ({"start": {"mean": np.zeros(2)}}, ["start is", "a point like θ"]),
        ({"start": {"other": 0.0}}, ["start is", "a point like θ"]),
        ({"start": {"mean": "a"}}, ["holds 'a'", "real number"]),
        ({"start": {"mean": math.inf}}, ["not finite"]),
        ({"plate": "records"}, ["plate is 'records'", "Leave plate out"]),
        (
            {
                "model": replace(MODEL, draw_prior=lambda key: {"mean": jnp.zeros(3)}),
                "start": "prior",
            },
            ["draw_prior gives", "they must be alike"],
        ),
        (
            {"start": Variational(epsilon=0.5, batch=5000)},
            ["batch is 5000", "1000 records"],
        ),
    ],
)
@pytest.mark.parametrize("run", [run_privately, run_openly])
def test_starts_that_cannot_be(run: Any, changes: dict[str, Any], parts: Any) -> None:
    assert_refused(lambda: run(**changes), *parts)


def test_a_fit_that_spends_the_whole_budget_is_refused() -> None:
    assert_refused(
        lambda: run_privately(start=Variational(epsilon=1.0)),
        "buys 0 bits",
    )


def test_a_share_needs_a_budget() -> None:
    assert_refused(
        lambda: run_privately(start="variational", epsilon=None, steps=10),
        "share of 0.2",
    )


def test_discrete_parameters_have_no_variational_start() -> None:
    model = Model(lambda theta, record: 0.0 * record, lambda theta: 0.0, {"k": 3})
    with pytest.raises(InputError, match="discrete"):
        seeded(model, np.zeros(50), start=QUICK, proposal=None)
