# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What all tests share: repeatable randomness, and one small model."""

import hashlib
import os
from collections import Counter
from collections.abc import Iterator
from functools import partial

import jax
import numpy as np
import pytest
from hypothesis import settings
from jax.scipy import stats
from terminals import Terminal
from tqdm.auto import tqdm

import dpmcmc

# Property tests try the same examples on every machine, in their own time.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")


def pytest_configure(config: pytest.Config) -> None:
    """Keep what JAX compiles between runs, for processes that tests start as well."""
    kept = {
        "jax_compilation_cache_dir": str(config.rootpath / ".pytest_cache/compiled"),
        "jax_persistent_cache_min_compile_time_secs": 0.0,
    }
    for name, value in kept.items():
        jax.config.update(name, value)
        os.environ[name.upper()] = str(value)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the seed of all tapes be told, to see how a test does with others."""
    parser.addoption("--tape-seed", default="0", help="what tapes' keys are made of")


@pytest.fixture(scope="session", autouse=True)
def repeatable_tapes(request: pytest.FixtureRequest) -> Iterator[None]:
    """Key the tapes of private runs by the test's name, not by the operating system.

    A private run takes no seed. So that its draws are the same on every machine
    nevertheless, what it asks the operating system for is made up here. Processes
    that a test starts have true randomness: those tests ask nothing of draws.
    """
    seed, asked = request.config.getoption("--tape-seed"), Counter[str]()

    def made_up(size: int) -> bytes:
        test = os.environ.get("PYTEST_CURRENT_TEST", "")
        asked[test] += 1
        told = f"{seed} {test} {asked[test]}".encode()
        return hashlib.shake_256(told).digest(size)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "urandom", made_up)
        yield


@pytest.fixture(scope="session")
def model() -> dpmcmc.Model:
    """A normal mean: records have standard deviation 1, and the prior is N(0, 1)."""
    return dpmcmc.Model(
        log_likelihood=lambda theta, record: stats.norm.logpdf(record, theta["mean"]),
        log_prior=lambda theta: stats.norm.logpdf(theta["mean"]),
        initial={"mean": 0.0},
    )


@pytest.fixture(scope="session")
def records() -> np.ndarray:
    """A hundred simulated records for `model`."""
    return np.random.default_rng(1).normal(0.3, 1.0, size=100)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal on which progress bars are shown."""
    shows = Terminal()
    monkeypatch.setattr("dpmcmc.progress.tqdm", partial(tqdm, file=shows))
    return shows
