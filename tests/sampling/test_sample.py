# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The front door: seeds, tapes, precision, devices, and what a run says of itself."""

import inspect
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from runs import assert_same_draws, private, seeded

import dpmcmc
from dpmcmc import Model, Posterior, sample, sample_not_private
from dpmcmc.private import Tape


def test_both_doors_have_the_same_settings() -> None:
    """But for the checkpoint on one side and the seed on the other."""
    one = set(inspect.signature(sample).parameters)
    other = set(inspect.signature(sample_not_private).parameters)
    assert one - other == {"checkpoint"}
    assert other - one == {"seed"}


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
    assert seeded(model, records, warmup=7).settings == {
        "proposal": "RandomWalk(scale=0.2)",
        "warmup": "7",
        "precision": "float32",
        "jax": jax.__version__,
    }


def test_exact_statistics_are_the_default_where_a_model_states_them() -> None:
    found = sample(
        dpmcmc.models.poisson(20.0),
        {"x": np.ones(200)},
        epsilon=1.0,
        delta=1e-5,
        steps=20,
        progress=False,
    )
    names = [stage.name for stage in found.statement.stages]
    assert names == ["sum", "chain"]


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

    def fresh(cls: type[Tape], **_: object) -> Tape:
        made.append(cls.seeded(1))
        return made[-1]

    monkeypatch.setattr(Tape, "fresh", classmethod(fresh))
    run = private(model, records, steps=40, chains=2)
    assert len(made) == 1
    assert_same_draws(run, seeded(model, records, clip=0.05, chains=2))
    assert len(made) == 1


@pytest.mark.parametrize(("seed", "reasons"), [(None, 1), (0, 2), (1, 2)])
def test_a_run_without_privacy_says_every_reason(
    model: Model, records: np.ndarray, seed: int | None, reasons: int
) -> None:
    posterior = seeded(model, records, seed=seed)
    statement = posterior.statement
    assert len(statement.not_private_because) == reasons
    assert ("seed" in " ".join(statement.not_private_because)) == (seed is not None)
    assert not statement.is_private
    assert (statement.epsilon, statement.delta) == (math.inf, 1.0)
    for shown in (str(posterior), repr(posterior), str(statement)):
        assert "NOT PRIVATE" in shown


# Devices and precision.


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


# Without a budget.


def test_statistics_without_a_budget_have_hardly_any_noise() -> None:
    """The posterior of a Poisson rate with counts, whose prior is known: a gamma."""
    counts = np.random.default_rng(3).poisson(2.5, size=400).astype(float)
    found = sample_not_private(
        dpmcmc.models.poisson(20.0), {"x": counts}, seed=1, progress=False
    )
    (draws,) = found.draws.values()
    assert abs(draws.mean() - counts.mean()) < 0.02
    sd = (counts.mean() / 400) ** 0.5
    assert draws.std() == pytest.approx(sd, rel=0.1)
    with pytest.raises(dpmcmc.InputError, match="epsilon"):
        sample(dpmcmc.models.poisson(20.0), {"x": counts}, delta=1e-5)
