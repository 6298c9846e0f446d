# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The stage of decisions: warm-up, chunks, where chains start and how they move."""

import math
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from runs import WALK, all_bits, all_draws, assert_same_draws, seeded

from dpmcmc import Adaptive, MinibatchBarker, Model
from dpmcmc.accounting import BarkerBit
from dpmcmc.private import FullData, Grid
from dpmcmc.sampling import chain as stage
from dpmcmc.sampling.problem import make_problem
from dpmcmc.sampling.sample import plan_run


@pytest.mark.parametrize(
    ("steps", "warmup", "kept"),
    [(41, None, 31), (3, None, 3), (40, 39, 1)],
)
def test_warm_up_is_split_off(
    model: Model, records: np.ndarray, steps: int, warmup: int | None, kept: int
) -> None:
    posterior = seeded(model, records, steps=steps, warmup=warmup, chains=2)
    assert posterior.draws["mean"].shape == (2, kept)
    assert posterior.accepted.shape == (2, kept)
    assert posterior.warmup_draws["mean"].shape == (2, steps - kept)
    assert posterior.warmup_accepted.shape == (2, steps - kept)
    whole = seeded(model, records, steps=steps, warmup=0, chains=2)
    np.testing.assert_array_equal(all_draws(posterior, "mean"), whole.draws["mean"])
    np.testing.assert_array_equal(all_bits(posterior), whole.accepted)


def test_a_chain_moves_exactly_where_it_accepts(
    model: Model, records: np.ndarray
) -> None:
    posterior = seeded(model, records, steps=300, warmup=0, chains=3)
    path = np.concatenate([np.zeros((3, 1)), posterior.draws["mean"]], axis=1)
    np.testing.assert_array_equal(np.diff(path, axis=1) != 0, posterior.accepted)
    assert 0.1 < posterior.accepted.mean() < 0.9


@pytest.mark.parametrize("elsewhere", [-math.inf, math.nan])
def test_a_point_of_no_density_is_never_taken(
    records: np.ndarray, elsewhere: float
) -> None:
    """A prior that is not finite at any other point keeps each chain at its start."""
    model = Model(
        lambda theta, record: -((record - theta["a"]) ** 2),
        lambda theta: jnp.where(theta["a"] == 3.5, 0.0, elsewhere),
        initial={"a": 3.5, "b": np.array([1.0, 2.0])},
    )
    posterior = seeded(model, records, chains=3, warmup=0)
    np.testing.assert_array_equal(posterior.draws["a"], np.full((3, 40), 3.5))
    np.testing.assert_array_equal(posterior.draws["b"], np.tile([1.0, 2.0], (3, 40, 1)))
    assert not posterior.accepted.any()


def test_chains_are_different_and_do_not_change_each_other(
    model: Model, records: np.ndarray
) -> None:
    one, four = seeded(model, records), seeded(model, records, chains=4)
    assert len({chain.tobytes() for chain in four.draws["mean"]}) == 4
    np.testing.assert_array_equal(one.draws["mean"][0], four.draws["mean"][0])


# Chunks.


@pytest.mark.parametrize(
    ("kind", "longest"), [("all", 7), ("batch", 1), ("batch", 39), ("adaptive", 7)]
)
def test_a_chunk_never_changes_a_draw(
    model: Model,
    records: np.ndarray,
    longest: int,
    kind: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    changes = {
        "all": {},
        "batch": {"method": MinibatchBarker(batch=20, proposal=WALK)},
        "adaptive": {"proposal": Adaptive(WALK)},
    }[kind]
    monkeypatch.setattr(stage, "_FEWEST_CHUNKS", 1)
    whole = seeded(model, records, chains=2, **changes)
    monkeypatch.setattr(stage, "_LONGEST_CHUNK", longest)
    assert_same_draws(seeded(model, records, chains=2, **changes), whole)


def test_the_parts_cost_the_whole(model: Model, records: np.ndarray) -> None:
    """Chunks are charged for what they decide, one after another."""
    problem = make_problem(model, records, start=None, precision=None, devices=None)
    plan = plan_run(
        problem,
        MinibatchBarker(batch=20, proposal=WALK),
        epsilon=None,
        delta=1e-5,
        steps=107,
        chains=2,
    )
    (chain,) = plan.stages
    charged = []
    context = stage.Context(problem, seed=1, progress=False)
    parts = list(
        chain.run(context, {"chain": []}, {}, lambda *part: charged.append(part))
    )
    assert [part.name for part in parts] == [name for name, _ in charged]
    total = sum(count for _, events in charged for count in events.values())
    assert chain.events == {next(iter(chain.events)): total}
    assert total == 2 * 107
    assert sum(len(part.arrays["accepted"]) for part in parts) == 107


@pytest.mark.parametrize(("width", "chains"), [(1, 1), (1000, 1), (1000, 64)])
def test_batches_of_wide_records_are_made_ahead_in_bounded_memory(
    width: int, chains: int
) -> None:
    """A chunk holds 64 MiB of batches at most, however wide a record is."""
    model = Model(lambda theta, r: theta * r[0], lambda theta: -(theta**2), 0.0)
    problem = make_problem(
        model,
        np.zeros((5000, width), np.float32),
        start=None,
        precision=None,
        devices=None,
    )
    plan = plan_run(
        problem,
        MinibatchBarker(batch=1000, proposal=WALK, tempering=100),
        epsilon=None,
        delta=1e-5,
        steps=10**5,
        chains=chains,
    )
    chunk = plan.stages[0]._chunk(problem, 1000)
    assert 1 <= chunk <= 2000
    assert chunk == 1 or chunk * chains * 1000 * width * 8 <= 2**26


def test_a_free_chain_charges_nothing(model: Model, records: np.ndarray) -> None:
    problem = make_problem(model, records, start=None, precision=None, devices=None)
    test = FullData(Grid(0.05))

    def setup(*_: object) -> stage.ChainSetup:
        points = stage.repeated(problem.initial, 1)
        return stage.ChainSetup(problem, points, WALK, test)

    def public(*_: object) -> stage.ChainSetup:
        made_up = replace(problem, records=stage.PUBLIC)
        return setup()._replace(problem=made_up)

    def never(*_: object) -> None:
        raise AssertionError("a chain that reads no record was charged")

    lengths = stage.Lengths(1, 30, 0)
    free = stage.Chain(lengths, None, test, public, "")
    by_setup = stage.Chain(lengths, BarkerBit(0.05, 100), test, public, "")
    paid = stage.Chain(lengths, BarkerBit(0.05, 100), test, setup, "")
    unpaid = stage.Chain(lengths, None, test, setup, "")
    context = stage.Context(problem, seed=1, progress=False)
    assert free.events == {}
    for chain in (free, by_setup):
        parts = list(chain.run(context, {"chain": []}, {}, never))
        assert sum(len(part.arrays["accepted"]) for part in parts) == 30
        assert not list(chain.run(context, {"chain": parts}, {}, never))
    for chain in (paid, unpaid):
        with pytest.raises(AssertionError, match="was charged"):
            next(chain.run(context, {"chain": []}, {}, never))


def test_nothing_is_left_on_the_device(model: Model, records: np.ndarray) -> None:
    seeded(model, records)
    before = len(jax.live_arrays())
    seeded(model, records)
    assert len(jax.live_arrays()) <= before
