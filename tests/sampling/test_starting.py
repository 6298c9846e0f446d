# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Where chains start: at a point, or at draws from the prior; that costs nothing."""

import math
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from refusals import MODEL, assert_refused, run_openly, run_privately
from runs import all_draws, assert_same_draws, private, seeded

from dpmcmc import Model, RandomWalk

STILL = RandomWalk(1e-6)


@pytest.fixture(scope="module")
def with_prior(model: Model) -> Model:
    return replace(
        model, draw_prior=lambda key: {"mean": jax.random.normal(key, (), float)}
    )


def test_a_point_is_where_chains_start(model: Model, records: np.ndarray) -> None:
    there = seeded(model, records, start={"mean": 0.7}, proposal=STILL, chains=2)
    np.testing.assert_allclose(there.draws["mean"], 0.7, atol=1e-4)


def test_a_point_costs_nothing(model: Model, records: np.ndarray) -> None:
    one = private(model, records, steps=20, start={"mean": 0.7})
    two = private(model, records, steps=20)
    assert one.statement == two.statement


def test_each_chain_may_start_at_a_draw_from_the_prior(
    with_prior: Model, records: np.ndarray
) -> None:
    settings = {"start": "prior", "proposal": STILL, "chains": 3}
    first = seeded(with_prior, records, **settings)
    starts = all_draws(first, "mean")[:, 0]
    assert len(set(starts.tolist())) == 3
    assert_same_draws(first, seeded(with_prior, records, **settings))
    other = seeded(with_prior, records, **settings, seed=2)
    assert set(starts.tolist()).isdisjoint(all_draws(other, "mean")[:, 0].tolist())


def test_private_draws_from_the_prior_differ_from_run_to_run(
    with_prior: Model, records: np.ndarray
) -> None:
    settings = {"start": "prior", "proposal": STILL, "steps": 4}
    draws = [
        all_draws(private(with_prior, records, **settings), "mean")[0, 0]
        for _ in range(3)
    ]
    assert len(set(draws)) == 3


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"start": "mode"}, ["start is 'mode'"]),
        ({"start": "prior"}, ["draw_prior"]),
        ({"start": {"mean": np.zeros(2)}}, ["start is"]),
        ({"start": {"other": 0.0}}, ["start is"]),
        ({"start": {"mean": "a"}}, ["'a'"]),
        ({"start": {"mean": math.inf}}, ["initial['mean'] is not finite"]),
        (
            {
                "model": replace(MODEL, draw_prior=lambda key: {"mean": jnp.zeros(3)}),
                "start": "prior",
            },
            ["draw_prior gives"],
        ),
    ],
)
@pytest.mark.parametrize("run", [run_privately, run_openly])
def test_starts_that_cannot_be(run: Any, changes: dict[str, Any], parts: Any) -> None:
    assert_refused(lambda: run(**changes), *parts)
