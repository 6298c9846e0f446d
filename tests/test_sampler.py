# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The front door: budgets and steps, forms of θ and records, chunks, seeds, the bar."""

import inspect
import math
import re
from collections.abc import Callable
from importlib.metadata import version
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from dp_accounting import SelfComposedDpEvent

import dpmcmc
from dpmcmc import Model, Posterior, RandomWalk, Records, sample, sample_not_private
from dpmcmc.acceptance import Setting
from dpmcmc.accounting import BarkerBit, certify_epsilon
from dpmcmc.loop import _fitting_chunk
from dpmcmc.private import Tape

WALK = RandomWalk(0.2)


def cost(bits: int, clip: float, records: int, delta: float) -> float:
    """The ε of so many bits, asked of the accountants directly."""
    event = SelfComposedDpEvent(BarkerBit(clip=clip, records=records), bits)
    return certify_epsilon(event, delta).epsilon


def private(model: Model, records: Any, **changes: Any) -> Posterior:
    """Run `sample` at a small cost, but for the changes.

    Chunks of the same length are compiled once for runs of all lengths.
    """
    settings = {"delta": 1e-5, "clip": 0.05, "proposal": WALK, "progress": False}
    return sample(model, records, **{**settings, "chunk": 5, **changes})


def seeded(model: Model, records: Any, **changes: Any) -> Posterior:
    """Run `sample_not_private` with a seed, but for the changes."""
    settings = {"steps": 40, "seed": 1, "proposal": WALK, "progress": False}
    return sample_not_private(model, records, **{**settings, **changes})


def assert_same_draws(one: Posterior, other: Posterior) -> None:
    """Every released number and bit is the same, the warm-up included."""
    assert list(one.draws) == list(other.draws)
    for name in one.draws:
        np.testing.assert_array_equal(one.draws[name], other.draws[name], strict=True)
        np.testing.assert_array_equal(one.warmup_draws[name], other.warmup_draws[name])
    np.testing.assert_array_equal(one.accepted, other.accepted, strict=True)
    np.testing.assert_array_equal(one.warmup_accepted, other.warmup_accepted)


def all_draws(posterior: Posterior, name: str) -> np.ndarray:
    return np.concatenate([posterior.warmup_draws[name], posterior.draws[name]], axis=1)


def all_bits(posterior: Posterior) -> np.ndarray:
    return np.concatenate([posterior.warmup_accepted, posterior.accepted], axis=1)


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
    assert one - other == {"epsilon", "delta"}
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


# Forms of records.

X = np.random.default_rng(2).normal(size=60)
N = np.random.default_rng(3).integers(0, 5, size=60)


class Row(NamedTuple):
    x: Any
    n: Any


FORMS = [
    pytest.param({"x": X, "n": N}, lambda r: (r["x"], r["n"]), id="dict"),
    pytest.param((X, N), lambda r: r, id="tuple"),
    pytest.param([X, N], lambda r: r, id="list"),
    pytest.param(Row(X, N), lambda r: (r.x, r.n), id="named tuple"),
    pytest.param(
        {"x": X, "more": {"n": N}}, lambda r: (r["x"], r["more"]["n"]), id="nested"
    ),
    pytest.param(np.stack([X, N], axis=1), lambda r: (r[0], r[1]), id="matrix"),
    pytest.param((jnp.asarray(X), jnp.asarray(N)), lambda r: r, id="arrays of JAX"),
    pytest.param(
        pd.DataFrame({"x": X, "n": N}), lambda r: (r["x"], r["n"]), id="pandas"
    ),
    pytest.param(
        pl.DataFrame({"x": X, "n": N}), lambda r: (r["x"], r["n"]), id="polars"
    ),
    pytest.param(pa.table({"x": X, "n": N}), lambda r: (r["x"], r["n"]), id="pyarrow"),
    pytest.param(
        Records({"x": X, "n": N}), lambda r: (r["x"], r["n"]), id="dpmcmc.Records"
    ),
    pytest.param(
        Records(pl.DataFrame({"x": X, "n": N})),
        lambda r: (r["x"], r["n"]),
        id="Records of a table",
    ),
]


def model_of(parts: Callable[[Any], tuple[Any, Any]]) -> Model:
    def log_likelihood(theta: dict, record: Any) -> Any:
        x, n = parts(record)
        return -((x - theta["mean"] * n) ** 2) / 2

    return Model(log_likelihood, lambda theta: -(theta["mean"] ** 2), {"mean": 0.0})


@pytest.fixture(scope="module")
def reference() -> Posterior:
    return seeded(model_of(lambda r: (r["x"], r["n"])), {"x": X, "n": N})


@pytest.mark.parametrize(("form", "parts"), FORMS)
def test_records_of_any_form_give_the_same_draws(
    form: Any, parts: Callable[[Any], tuple[Any, Any]], reference: Posterior
) -> None:
    posterior = seeded(model_of(parts), form)
    assert posterior.statement.records == 60
    np.testing.assert_allclose(posterior.draws["mean"], reference.draws["mean"])
    np.testing.assert_array_equal(posterior.accepted, reference.accepted)


def test_a_bare_array_and_a_bare_series_are_records(model: Model) -> None:
    assert_same_draws(seeded(model, X), seeded(model, pd.Series(X)))


def test_records_may_have_any_shape(records: np.ndarray) -> None:
    model = Model(
        lambda theta, record: -jnp.sum((record - theta) ** 2),
        lambda theta: 0.0,
        initial=np.zeros((2, 3)),
    )
    images = np.ones((30, 2, 3))
    assert seeded(model, images).draws["theta"].shape == (1, 30, 2, 3)


def test_booleans_and_whole_numbers_stay_what_they_are() -> None:
    seen = {}

    def log_likelihood(theta: Any, record: dict) -> Any:
        seen.update({name: str(value.dtype) for name, value in record.items()})
        return theta * jnp.where(record["flag"], 1.0, -1.0) + 0 * record["count"]

    records = {
        "flag": np.ones(9, bool),
        "count": np.ones(9, np.int64),
        "small": np.ones(9, np.uint8),
        "x": np.ones(9),
    }
    model = Model(log_likelihood, lambda theta: -(theta**2), initial=0.0)
    seeded(model, records)
    assert seen == {"flag": "bool", "count": "int32", "small": "uint8", "x": "float32"}
    seeded(model, records, precision="float64")
    assert seen == {"flag": "bool", "count": "int64", "small": "uint8", "x": "float64"}


def test_the_user_s_records_are_not_changed(model: Model) -> None:
    mine = X.copy()
    seeded(model, mine)
    np.testing.assert_array_equal(mine, X)


# Forms of θ.


class Line(NamedTuple):
    slope: Any
    centre: Any


@pytest.mark.parametrize(
    ("initial", "read", "names"),
    [
        (0.0, lambda t: t, {"theta": ()}),
        (0, lambda t: t, {"theta": ()}),
        (np.zeros(3), lambda t: t.sum(), {"theta": (3,)}),
        (jnp.zeros((2, 2)), lambda t: t.sum(), {"theta": (2, 2)}),
        ({"a": 0.0, "b": 1}, lambda t: t["a"] * t["b"], {"a": (), "b": ()}),
        ((0.0, np.zeros(2)), lambda t: t[0] + t[1].sum(), {"0": (), "1": (2,)}),
        ([0.0, 0.0], lambda t: t[0] + t[1], {"0": (), "1": ()}),
        (Line(0.0, 0.0), lambda t: t.slope + t.centre, {"slope": (), "centre": ()}),
        (
            {"group": {"scale": 1.0, "at": [0.0, 0.0]}},
            lambda t: t["group"]["scale"] * t["group"]["at"][1],
            {"group.at.0": (), "group.at.1": (), "group.scale": ()},
        ),
    ],
    ids=lambda value: repr(value) if isinstance(value, dict) else None,
)
def test_theta_of_any_form(
    records: np.ndarray, initial: Any, read: Callable[[Any], Any], names: dict
) -> None:
    model = Model(
        lambda theta, record: -((record - read(theta)) ** 2) / 2,
        lambda theta: -sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(theta)),
        initial=initial,
    )
    posterior = seeded(model, records, chains=2)
    assert {k: v.shape[2:] for k, v in posterior.draws.items()} == names
    assert list(posterior.draws) == list(names)
    assert all(v.shape[:2] == (2, 30) for v in posterior.draws.values())
    assert all(v.dtype == "float32" for v in posterior.draws.values())
    for name in names:
        assert re.search(rf"^{re.escape(name)}\b", str(posterior), re.MULTILINE)


@pytest.mark.parametrize(
    "scale",
    [0.2, {"a": 0.2, "b": np.full(2, 0.2)}, {"a": 0.2, "b": 0.2}, 0.04 * np.eye(3)],
    ids=["number", "like θ", "one a leaf", "covariance"],
)
def test_scales_that_mean_the_same_make_the_same_chain(
    records: np.ndarray, scale: Any
) -> None:
    model = Model(
        lambda theta, record: -((record - theta["a"] - theta["b"].sum()) ** 2),
        lambda theta: -(theta["a"] ** 2) - jnp.sum(theta["b"] ** 2),
        initial={"a": 0.0, "b": np.zeros(2)},
    )
    one = seeded(model, records, proposal=RandomWalk(scale))
    other = seeded(model, records, proposal=RandomWalk(0.2))
    np.testing.assert_allclose(one.draws["b"], other.draws["b"], rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(one.accepted, other.accepted)


# The progress bar.


def test_the_bar_shows_steps_and_says_not_private(
    model: Model, records: np.ndarray, capsys: pytest.CaptureFixture[str]
) -> None:
    seeded(model, records, progress=True)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "Sampling (NOT PRIVATE)" in shown.err
    assert "40/40" in shown.err
    assert "steps/s" in shown.err


def test_the_bar_of_a_private_run(
    model: Model, records: np.ndarray, capsys: pytest.CaptureFixture[str]
) -> None:
    private(model, records, steps=12, progress=True)
    shown = capsys.readouterr()
    assert "Sampling:" in shown.err
    assert "NOT PRIVATE" not in shown.err
    assert "12/12" in shown.err


def test_the_bar_is_shown_unless_switched_off(
    model: Model, records: np.ndarray, capsys: pytest.CaptureFixture[str]
) -> None:
    seeded(model, records, progress=False)
    private(model, records, steps=12, progress=False)
    assert capsys.readouterr() == ("", "")
    sample(model, records, steps=12, delta=1e-5, clip=0.05, proposal=WALK)
    sample_not_private(model, records, steps=12, proposal=WALK)
    assert "12/12" in capsys.readouterr().err


@pytest.fixture
def at_each_move(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[int], None]]:
    """What is put into this list is called whenever the bar moves."""
    listeners: list[Callable[[int], None]] = []

    class Bar:
        def __init__(self, **_: object) -> None:
            pass

        def __enter__(self) -> "Bar":
            return self

        def __exit__(self, *_: object) -> None:
            return None

        def update(self, steps: int) -> None:
            for listener in listeners:
                listener(steps)

    monkeypatch.setattr("dpmcmc.progress.tqdm", Bar)
    return listeners


def test_the_bar_moves_with_every_chunk(
    model: Model, records: np.ndarray, at_each_move: list
) -> None:
    moves: list[int] = []
    at_each_move.append(moves.append)
    seeded(model, records, chunk=15)
    assert moves == [15, 15, 10]


def test_memory_on_the_device_does_not_grow_with_the_draws(
    records: np.ndarray, at_each_move: list
) -> None:
    """After the first chunks, only arrays of the host grow."""
    held: list[int] = []
    at_each_move.append(
        lambda steps: held.append(sum(array.nbytes for array in jax.live_arrays()))
    )
    wide = Model(
        lambda theta, record: record * theta[0],
        lambda theta: -jnp.sum(theta**2),
        initial=np.zeros(2000),
    )
    posterior = seeded(wide, records, steps=300, chunk=10, warmup=0)
    one_chunk = 10 * 2000 * 4
    assert posterior.draws["theta"].nbytes == 30 * one_chunk
    assert len(held) == 30
    assert max(held[3:]) < held[2] + one_chunk


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
