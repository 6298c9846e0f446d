# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What a budget buys: of clip, steps and ε, the one that is missing."""

import math
from importlib.metadata import version
from typing import Any

import numpy as np
import pytest
from runs import all_bits, chain_of, cost, private, seeded

import dpmcmc
from dpmcmc import Model, Posterior
from dpmcmc.accounting import BarkerBit, largest_clip


@pytest.mark.parametrize("chains", [1, 3])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("delta", [1e-5, 1e-3])
def test_a_budget_is_used_up_and_not_exceeded(
    model: Model, records: np.ndarray, epsilon: float, delta: float, chains: int
) -> None:
    found = private(model, records, epsilon=epsilon, delta=delta, chains=chains)
    statement = found.statement
    assert statement.is_private
    assert statement.delta == delta
    assert statement.epsilon <= epsilon
    decisions = all_bits(found).size
    assert statement.epsilon == cost(decisions, 0.05, 100, delta)
    assert cost(decisions + chains, 0.05, 100, delta) > epsilon


def test_steps_are_run_and_their_cost_is_read(
    model: Model, records: np.ndarray
) -> None:
    posterior = private(model, records, steps=17, chains=2)
    statement = posterior.statement
    assert chain_of(posterior) == {"chains": 2, "steps": 17, "made": 17}
    assert statement.records == 100
    assert statement.epsilon == cost(34, 0.05, 100, 1e-5)
    assert statement.accountant
    assert statement.version == version("dpmcmc")
    assert all_bits(posterior).shape == (2, 17)


def test_chains_share_the_budget(model: Model, records: np.ndarray) -> None:
    one, four = (
        private(model, records, epsilon=1.5, chains=chains) for chains in (1, 4)
    )
    assert chain_of(four)["steps"] == chain_of(one)["steps"] // 4
    assert one.statement.epsilon >= four.statement.epsilon > 0


def test_more_budget_or_a_smaller_clip_buys_more_steps(
    model: Model, records: np.ndarray
) -> None:
    def steps(**changes: Any) -> float:
        run = private(model, records, **{"epsilon": 1.0, **changes})
        return chain_of(run)["steps"]

    base = steps()
    assert steps(epsilon=2.0) > base
    assert steps(delta=1e-3) > base
    assert steps(clip=0.025) > 3 * base
    assert steps(clip=0.1) < base


def test_more_steps_and_chains_cost_more(model: Model, records: np.ndarray) -> None:
    def epsilon(steps: int, chains: int) -> float:
        return private(model, records, steps=steps, chains=chains).statement.epsilon

    costs = [epsilon(*run) for run in [(5, 1), (6, 1), (6, 2), (40, 2), (40, 3)]]
    assert costs == sorted(costs)
    assert len(set(costs)) == len(costs)
    assert epsilon(6, 2) == epsilon(12, 1)


def test_steps_and_a_budget_give_the_widest_clip(
    model: Model, records: np.ndarray
) -> None:
    posterior = private(model, records, clip=None, epsilon=2.0, steps=20, chains=2)
    clip = largest_clip(lambda width: BarkerBit(width, 100), 40, 2.0, 1e-5)
    assert posterior.statement.epsilon == cost(40, clip, 100, 1e-5)
    assert 1.99 < posterior.statement.epsilon <= 2.0


def test_a_statement_does_not_depend_on_the_records(model: Model) -> None:
    """Nor on whether a ratio is clipped: the values change nothing that is claimed."""
    first, *others = [
        private(model, values, epsilon=1.0).statement
        for values in (np.zeros(100), np.full(100, 1e6), np.full(100, math.nan))
    ]
    assert others == [first, first]


@pytest.mark.parametrize(
    ("delta", "noted"), [(0.009, False), (0.01, True), (0.5, True)]
)
def test_a_delta_of_one_over_n_is_noted_without_a_warning(
    model: Model, records: np.ndarray, delta: float, noted: bool
) -> None:
    """Warnings are errors here, so that returning at all shows there was none."""
    posterior = private(model, records, steps=5, delta=delta)
    assert posterior.statement.is_private
    assert len(posterior.statement.notes) == noted
    assert all("1/N" in note for note in posterior.statement.notes)


def test_numbers_of_numpy_are_numbers(model: Model, records: np.ndarray) -> None:
    posterior = private(
        model,
        records,
        epsilon=np.float32(1.0),
        delta=np.float64(1e-5),
        clip=np.float32(0.0625),
        chains=np.int64(2),
        warmup=np.uint8(1),
    )
    openly = seeded(model, records, clip=np.float32(0.0625), seed=np.int64(3))
    for found in (posterior, openly):
        again = dpmcmc.Statement.from_json(found.statement.to_json())
        assert again == found.statement


# A Lipschitz model with bounded moves needs no clip.


def laplace(lipschitz: float | None = 1.0) -> Model:
    """A Laplace likelihood: its gradient is at most 1 everywhere."""
    import jax.numpy as jnp

    return Model(
        lambda theta, record: -jnp.abs(record - theta),
        lambda theta: -0.5 * theta**2,
        0.0,
        lipschitz=lipschitz,
    )


def without_a_clip(**changes: Any) -> Posterior:
    settings = {"clip": None, "steps": 5, "proposal": dpmcmc.BoundedWalk(0.02)}
    return private(laplace(), np.zeros(500), **{**settings, **changes})


def test_the_clip_is_the_constant_times_the_longest_move() -> None:
    clip = math.nextafter(0.02, 1)
    assert without_a_clip().statement.epsilon == cost(5, clip, 500, 1e-5)
    assert len(without_a_clip().statement.notes) == 1, "it says that nothing is clipped"


def test_tempering_narrows_that_clip() -> None:
    found = without_a_clip(tempering=50).statement.epsilon
    assert found == pytest.approx(cost(5, 0.002, 500, 1e-5))


def test_a_narrower_clip_is_not_said_to_cut_nothing() -> None:
    assert without_a_clip(clip=0.01).statement.notes == ()


def test_that_clip_changes_no_draw() -> None:
    """Against the same chain with a clip a thousand times as wide: no bit differs,
    but for rounding on another grid."""
    records = np.random.default_rng(5).laplace(size=200)
    settings = {
        "proposal": dpmcmc.BoundedWalk(0.05),
        "steps": 400,
        "precision": "float64",
    }
    tight = seeded(laplace(), records, clip=0.05, **settings)
    wide = seeded(laplace(), records, clip=50.0, **settings)
    np.testing.assert_array_equal(tight.accepted, wide.accepted)


@pytest.mark.parametrize(
    ("lipschitz", "proposal"),
    [(None, dpmcmc.BoundedWalk(0.02)), (1.0, dpmcmc.RandomWalk(0.02))],
)
def test_with_one_of_the_two_a_clip_is_needed(lipschitz: Any, proposal: Any) -> None:
    with pytest.raises(dpmcmc.InputError, match="clip"):
        private(laplace(lipschitz), np.zeros(50), clip=None, steps=5, proposal=proposal)
