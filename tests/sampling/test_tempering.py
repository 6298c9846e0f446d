# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Tempering: how many records count, and that every method draws that posterior.

The mean is asked to be within 0.1 posterior standard deviations and the standard
deviation within 5%. With the effective sample sizes asserted below, a right chain is
off by less than 5 of its standard errors, a false alarm below 1e-5 in all.
"""

import os
import subprocess
import sys
from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as some

import dpmcmc
from dpmcmc.sampling.tempering import tempered_records

N = 5_000
RECORDS = np.random.default_rng(8).normal(0.3, 1.0, N).astype(np.float32)
NORMAL = dpmcmc.Model(
    lambda theta, record: -0.5 * (record - theta) ** 2,
    lambda theta: -0.5 * (theta / 10) ** 2,
    0.3,
)
METHODS: dict[str, Any] = {
    "barker": dpmcmc.Barker(),
    "gaussian": dpmcmc.GaussianBarker(),
    "minibatch": dpmcmc.MinibatchBarker(batch=1000),
}


@given(records=some.integers(1, 10**12), beta=some.floats(1e-3, 1e12))
def test_coarsening_tempers_to_fewer_records(records: int, beta: float) -> None:
    tempered = tempered_records(dpmcmc.Coarsening(beta), records)
    assert 0 < tempered <= min(records, beta) * (1 + 1e-12)
    assert tempered_records(None, records) == records


def test_the_statement_and_the_picture_say_that_a_posterior_is_tempered() -> None:
    walk = dpmcmc.RandomWalk(0.1)
    posterior = dpmcmc.sample(
        NORMAL,
        RECORDS,
        steps=50,
        delta=1e-6,
        method=dpmcmc.MinibatchBarker(batch=1000, tempering=250, proposal=walk),
        progress=False,
    )
    assert posterior.statement.is_tempered
    assert posterior.statement.tempered == 250
    assert any("N₀ = 250" in line for line in posterior.statement.lines)
    figure = dpmcmc.plot_posterior(posterior)
    texts = [text.get_text() for part in figure.subfigs for text in part.texts]
    assert "tempered to 250" in " ".join(texts)


def assert_close(draws: np.ndarray, mean: float, sd: float, ess: float) -> None:
    needed = 2500  # then 0.1 sd is 5 standard errors of the mean, 5% 3.5 of the sd
    assert ess > needed, f"the chain has only {ess:.0f} effective draws"
    assert abs(draws.mean() - mean) < 0.1 * sd
    assert abs(draws.std() / sd - 1) < 0.05


def closed_form(tempered: float) -> tuple[float, float]:
    precision = tempered + 1 / 100
    return tempered * RECORDS.astype(float).mean() / precision, precision**-0.5


@pytest.mark.parametrize(
    ("name", "tempered"), [("barker", 1000), ("gaussian", 100), ("minibatch", 100)]
)
def test_draws_match_the_tempered_posterior(name: str, tempered: int) -> None:
    mean, sd = closed_form(tempered)
    few = name != "minibatch"
    # Short moves for a batch, whose clip √b/N₀ must touch few ratios.
    walk = dpmcmc.RandomWalk(2.4 * sd if few else _short(tempered))
    posterior = dpmcmc.sample_not_private(
        NORMAL,
        RECORDS,
        steps=2500 if few else 5000,
        warmup=200,
        chains=16,
        method=replace(METHODS[name], tempering=tempered, proposal=walk),
        seed=3,
        progress=False,
    )
    ess = float(posterior.summary()["ess_bulk"].iloc[0])
    assert_close(posterior.draws["theta"], mean, sd, ess)


def _short(tempered: int) -> float:
    return 0.3 * np.sqrt(1000) / tempered


def test_a_wrong_temper_is_found() -> None:
    """The check can fail: a chain tempered to 110 records is not one of 100."""
    mean, sd = closed_form(100)
    posterior = dpmcmc.sample_not_private(
        NORMAL,
        RECORDS,
        steps=2500,
        warmup=200,
        chains=16,
        method=dpmcmc.Barker(tempering=115, proposal=dpmcmc.RandomWalk(2.4 * sd)),
        seed=3,
        progress=False,
    )
    ess = float(posterior.summary()["ess_bulk"].iloc[0])
    with pytest.raises(AssertionError):
        assert_close(posterior.draws["theta"], mean, sd, ess)


def test_a_record_with_a_missing_value_contributes_nothing_to_a_batch() -> None:
    """A hole is as good as a record whose ratio is zero, here by a flag."""
    model = dpmcmc.Model(
        lambda theta, record: jnp.where(
            record["on"] > 0, -0.5 * (record["x"] - theta) ** 2, 0.0
        ),
        lambda theta: -(theta**2),
        0.0,
    )
    values = RECORDS[:300].astype(float)
    holes = [None if k % 7 == 0 else float(v) for k, v in enumerate(values)]
    flags = [0.0 if k % 7 == 0 else 1.0 for k in range(300)]
    settings: dict[str, Any] = {
        "steps": 60,
        "method": dpmcmc.MinibatchBarker(batch=50, proposal=dpmcmc.RandomWalk(0.2)),
        "seed": 1,
        "progress": False,
    }
    with_holes = dpmcmc.sample_not_private(
        model, pl.DataFrame({"x": holes, "on": [1.0] * 300}), **settings
    )
    flagged = dpmcmc.sample_not_private(
        model, pl.DataFrame({"x": values, "on": flags}), **settings
    )
    np.testing.assert_array_equal(with_holes.accepted, flagged.accepted)
    assert 0 < with_holes.accepted.mean() < 1


ON_A_DEVICE = """
import jax, numpy as np, dpmcmc

model = dpmcmc.Model(
    lambda theta, record: -0.5 * (record - theta) ** 2, lambda theta: -(theta**2), 0.0
)
assert len(jax.devices()) == 3
for device in jax.devices():
    posterior = dpmcmc.sample_not_private(
        model,
        np.linspace(-1, 1, 500),
        steps=30,
        method=dpmcmc.MinibatchBarker(batch=40, proposal=dpmcmc.RandomWalk(0.2)),
        devices=[device],
        seed=1,
        progress=False,
    )
    print("".join(map(str, posterior.accepted.astype(int).ravel())))
"""


@pytest.mark.slow
def test_a_batch_is_decided_alike_on_any_device() -> None:
    """Three host devices in a process of their own, one run on each."""
    flags = "--xla_force_host_platform_device_count=3"
    done = subprocess.run(
        [sys.executable, "-c", ON_A_DEVICE],
        env={**os.environ, "XLA_FLAGS": flags},
        capture_output=True,
        text=True,
        check=True,
    )
    first, *others = done.stdout.split()
    assert len(others) == 2
    assert set(others) == {first}
    assert {"0", "1"} == set(first)
