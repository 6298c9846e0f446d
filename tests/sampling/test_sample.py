# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The front door: budgets and steps, forms of θ and records, chunks, seeds, the bar."""

import inspect
import math
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from runs import all_bits, all_draws, assert_same_draws, cost, private, seeded

import dpmcmc
from dpmcmc import Model, Posterior, sample, sample_not_private
from dpmcmc.acceptance import Setting
from dpmcmc.loop import _fitting_chunk
from dpmcmc.private import Tape

# Budgets.


@pytest.mark.parametrize("chains", [1, 3])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("delta", [1e-5, 1e-3])
def test_a_budget_is_used_up_and_not_exceeded(
    model: Model, records: np.ndarray, epsilon: float, delta: float, chains: int
) -> None:
    statement = private(
        model, records, epsilon=epsilon, delta=delta, chains=chains
    ).statement
    assert statement.is_private
    assert statement.chains == chains
    assert statement.delta == delta
    assert statement.epsilon <= epsilon
    bits = statement.chains * statement.steps
    assert statement.epsilon == cost(bits, 0.05, 100, delta)
    assert cost(bits + chains, 0.05, 100, delta) > epsilon


def test_steps_are_run_and_their_cost_is_read(
    model: Model, records: np.ndarray
) -> None:
    posterior = private(model, records, steps=17, chains=2)
    statement = posterior.statement
    assert (statement.chains, statement.steps, statement.records) == (2, 17, 100)
    assert statement.epsilon == cost(34, 0.05, 100, 1e-5)
    assert statement.clip == 0.05
    assert statement.accountant
    assert statement.version == version("dpmcmc")
    assert all_bits(posterior).shape == (2, 17)


def test_the_statement_counts_every_released_bit(
    model: Model, records: np.ndarray
) -> None:
    posterior = private(model, records, epsilon=1.0, chains=2)
    released = posterior.accepted.size + posterior.warmup_accepted.size
    assert released == posterior.statement.chains * posterior.statement.steps
    assert f"{released:,} accept-or-reject bits" in posterior.statement.text


def test_chains_share_the_budget(model: Model, records: np.ndarray) -> None:
    one, four = (
        private(model, records, epsilon=1.5, chains=chains).statement
        for chains in (1, 4)
    )
    assert four.steps == one.steps // 4
    assert one.epsilon >= four.epsilon > 0


def test_more_budget_or_a_smaller_clip_buys_more_steps(
    model: Model, records: np.ndarray
) -> None:
    def steps(**changes: Any) -> int:
        return private(model, records, **{"epsilon": 1.0, **changes}).statement.steps

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


def test_the_statement_does_not_depend_on_the_records(model: Model) -> None:
    """Nor on whether a ratio is clipped: the values change nothing that is claimed."""
    statements = [
        private(model, values, epsilon=1.0).statement
        for values in (np.zeros(100), np.full(100, 1e6), np.full(100, math.nan))
    ]
    assert len(set(statements)) == 1


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
    note = f"Note: δ = {delta:g} is not below 1/N = 0.01."
    assert (note in posterior.statement.text) == noted
    assert (note in str(posterior)) == noted


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
    again = dpmcmc.Statement.from_json(posterior.statement.to_json())
    assert again == posterior.statement
    openly = seeded(model, records, clip=np.float32(0.0625), seed=np.int64(3))
    assert openly.statement.clip == 0.0625
    assert dpmcmc.Statement.from_json(openly.statement.to_json()) == openly.statement


# Warm-up.


@pytest.mark.parametrize(
    ("steps", "warmup", "kept"),
    [(40, None, 30), (41, None, 31), (3, None, 3), (40, 0, 40), (40, 39, 1)],
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


# The chain.


def test_a_chain_moves_exactly_where_it_accepts(
    model: Model, records: np.ndarray
) -> None:
    posterior = seeded(model, records, steps=300, warmup=0, chains=3)
    path = np.concatenate([np.zeros((3, 1)), posterior.draws["mean"]], axis=1)
    np.testing.assert_array_equal(np.diff(path, axis=1) != 0, posterior.accepted)
    assert 0.1 < posterior.accepted.mean() < 0.9


@pytest.mark.parametrize("elsewhere", [-math.inf, math.inf, math.nan])
def test_every_chain_starts_at_the_initial_point(
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


def test_chains_are_different_from_each_other(
    model: Model, records: np.ndarray
) -> None:
    draws = seeded(model, records, chains=4).draws["mean"]
    assert len({chain.tobytes() for chain in draws}) == 4


def test_released_arrays_are_numpy_s_own(model: Model, records: np.ndarray) -> None:
    posterior = private(model, records, steps=10)
    for values in [
        *posterior.draws.values(),
        *posterior.warmup_draws.values(),
        posterior.accepted,
        posterior.warmup_accepted,
    ]:
        assert type(values) is np.ndarray
    assert posterior.accepted.dtype == bool


def test_settings_say_how_the_run_was_made(model: Model, records: np.ndarray) -> None:
    said = seeded(model, records, warmup=7).settings
    assert said["proposal"] == "RandomWalk(scale=0.2)"
    assert said["start"] == "{'mean': 0.0}"
    assert said["warmup"] == "7"
    assert said["precision"] == "float32"
    assert said["jax"] == jax.__version__


# Seeds and tapes.


def test_the_same_seed_makes_the_same_draws(model: Model, records: np.ndarray) -> None:
    assert_same_draws(seeded(model, records), seeded(model, records))


@pytest.mark.parametrize("other", [0, 2, 2**70])
def test_another_seed_makes_other_draws(
    model: Model, records: np.ndarray, other: int
) -> None:
    one, two = seeded(model, records), seeded(model, records, seed=other)
    assert not np.array_equal(one.draws["mean"], two.draws["mean"])


@pytest.mark.parametrize(
    "run",
    [
        lambda model, records: private(model, records, steps=30, warmup=0),
        lambda model, records: seeded(model, records, steps=30, warmup=0, seed=None),
    ],
    ids=["private", "not private"],
)
def test_without_a_seed_no_two_runs_agree(
    model: Model, records: np.ndarray, run: Callable[[Model, Any], Posterior]
) -> None:
    """Two tapes of thirty steps agree by chance about never."""
    one, two = run(model, records), run(model, records)
    assert not np.array_equal(one.draws["mean"], two.draws["mean"])


def test_a_private_run_uses_one_fresh_tape(
    model: Model, records: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And on the same tape it is the chain that is not private, bit for bit."""
    made = []

    def fresh(cls: type[Tape]) -> Tape:
        made.append(cls.seeded(1))
        return made[-1]

    monkeypatch.setattr(Tape, "fresh", classmethod(fresh))
    run = private(model, records, steps=40, chains=2)
    assert len(made) == 1
    assert_same_draws(run, seeded(model, records, clip=0.05, chains=2))
    assert len(made) == 1


@pytest.mark.parametrize(
    ("changes", "reasons"),
    [
        ({"seed": 1, "clip": 0.05}, ["sample_not_private", "from a seed"]),
        ({"seed": None, "clip": None}, ["sample_not_private", "no clip"]),
        ({"seed": 0}, ["sample_not_private", "no clip", "from a seed"]),
        ({"seed": None, "clip": 0.05}, ["sample_not_private"]),
    ],
)
def test_a_run_without_privacy_says_every_reason(
    model: Model, records: np.ndarray, changes: dict, reasons: list[str]
) -> None:
    posterior = seeded(model, records, **changes)
    given = posterior.statement.not_private_because
    assert len(given) == len(reasons)
    assert all(part in reason for part, reason in zip(reasons, given, strict=True))
    assert not posterior.statement.is_private
    assert posterior.statement.epsilon == math.inf
    for shown in (str(posterior), repr(posterior), posterior.statement.text):
        assert "NOT PRIVATE" in shown


def test_both_doors_have_the_same_settings() -> None:
    """But for the budget on one side and the seed on the other."""
    one = set(inspect.signature(sample).parameters)
    other = set(inspect.signature(sample_not_private).parameters)
    assert one - other == {"epsilon", "delta", "covariates", "custody"}
    assert other - one == {"seed"}


# Chunks, devices and precision.


@pytest.mark.parametrize("chunk", [1, 7, 39, 40, 1000])
def test_a_chunk_never_changes_a_draw(
    model: Model, records: np.ndarray, chunk: int
) -> None:
    assert_same_draws(
        seeded(model, records, chains=2, chunk=chunk), seeded(model, records, chains=2)
    )


def test_chains_do_not_change_each_other(model: Model, records: np.ndarray) -> None:
    """Chain k is the same whether or not others run beside it."""
    one, three = seeded(model, records), seeded(model, records, chains=3)
    np.testing.assert_array_equal(one.draws["mean"][0], three.draws["mean"][0])


def test_devices_may_be_given(model: Model, records: np.ndarray) -> None:
    given = seeded(model, records, devices=tuple(jax.local_devices()))
    assert_same_draws(given, seeded(model, records))


@pytest.mark.parametrize("enabled", [False, True])
@pytest.mark.parametrize("precision", [None, "float32", "float64"])
def test_precision_follows_jax_and_leaves_it_alone(
    model: Model, records: np.ndarray, enabled: bool, precision: str | None
) -> None:
    expected = precision or ("float64" if enabled else "float32")
    with jax.enable_x64(enabled):
        posterior = seeded(model, records, precision=precision)
        assert jnp.zeros(1).dtype == ("float64" if enabled else "float32")
    assert posterior.draws["mean"].dtype == expected
    assert posterior.settings["precision"] == expected
    assert jnp.zeros(1).dtype == "float32"


def test_draws_do_not_depend_on_jax_s_setting(
    model: Model, records: np.ndarray
) -> None:
    """Only the precision asked for counts, whatever JAX is set to around it."""
    for precision in ("float32", "float64"):
        plain = seeded(model, records, precision=precision)
        with jax.enable_x64(True):
            assert_same_draws(seeded(model, records, precision=precision), plain)


def test_the_setting_is_left_alone_when_a_run_is_refused(model: Model) -> None:
    with pytest.raises(dpmcmc.InputError):
        seeded(model, np.ones((10, 2)), precision="float64")
    assert jnp.zeros(1).dtype == "float32"


def test_a_budget_that_buys_more_steps_than_anyone_meant_is_asked_about(
    model: Model, records: np.ndarray
) -> None:
    with pytest.raises(dpmcmc.InputError, match="Give steps instead of epsilon"):
        private(model, records, epsilon=1.0, clip=1e-6)


def test_batches_of_wide_records_are_made_ahead_in_bounded_memory() -> None:
    """A chunk holds 64 MiB of batches at most, however wide a record is."""
    test = dpmcmc.MinibatchBarker(batch=1000).mechanism(Setting(5000, 100.0, None))
    for width, chains in [(1, 1), (1000, 1), (1000, 64)]:
        records = dpmcmc.Records(np.zeros((5000, width), np.float32))
        chunk = _fitting_chunk(records, chains, test)
        assert 1 <= chunk <= 2000
        assert chunk == 1 or chunk * chains * 1000 * width * 8 <= 2**26
