# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Progress bars of runs: shown on a terminal, with steps and records counted."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from runs import private, seeded
from terminals import Terminal
from tqdm.auto import tqdm

from dpmcmc import Model, SufficientStatistics, models


def test_the_bar_shows_steps_and_says_not_private(
    model: Model, records: np.ndarray, terminal: Terminal
) -> None:
    seeded(model, records, progress=True)
    assert terminal.labels == ["Sampling (NOT PRIVATE)"]
    assert "40/40" in terminal.shown
    assert "steps/s" in terminal.shown


def test_the_bar_of_a_private_run(
    model: Model, records: np.ndarray, terminal: Terminal
) -> None:
    private(model, records, steps=12, progress=True)
    assert terminal.labels == ["Sampling"]
    assert "12/12" in terminal.shown


def test_statistics_count_records(terminal: Terminal) -> None:
    seeded(
        models.poisson(20.0),
        {"x": np.ones(2000)},
        method=SufficientStatistics(),
        epsilon=1.0,
        progress=True,
    )
    assert terminal.labels == ["Statistics (NOT PRIVATE)", "Sampling (NOT PRIVATE)"]
    assert "2000/2000 [" in terminal.shown


def test_nothing_is_shown_where_nobody_looks_or_it_is_switched_off(
    model: Model,
    records: np.ndarray,
    terminal: Terminal,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seeded(model, records, progress=False)
    private(model, records, steps=12, progress=False)
    monkeypatch.setattr(terminal, "isatty", lambda: False)
    seeded(model, records, progress=True)
    assert terminal.shown == ""
    assert capfd.readouterr() == ("", "")


@pytest.fixture
def at_each_move(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[int], None]]:
    """What is put into this list is called whenever the bar moves."""
    listeners: list[Callable[[int], None]] = []

    class Bar(tqdm):
        def update(self, steps: int) -> None:
            for listener in listeners:
                listener(steps)

    monkeypatch.setattr("dpmcmc.progress.tqdm", Bar)
    return listeners


def test_the_bar_moves_with_every_chunk(
    model: Model, records: np.ndarray, at_each_move: list
) -> None:
    """Fifty chunks at least, after a first move by what was done before."""
    moves: list[int] = []
    at_each_move.append(moves.append)
    seeded(model, records, steps=215)
    assert moves == [0, *[4] * 53, 3]


def test_memory_on_the_device_does_not_grow_with_the_draws(
    records: np.ndarray, at_each_move: list
) -> None:
    """Only arrays of the host grow; the device holds a chunk and what is made ready."""
    held: list[int] = []
    at_each_move.append(
        lambda _: held.append(sum(array.nbytes for array in jax.live_arrays()))
    )
    wide = Model(
        lambda theta, record: record * theta[0],
        lambda theta: -jnp.sum(theta**2),
        initial=np.zeros(2000),
    )
    posterior = seeded(wide, records, steps=300, warmup=0)
    one_chunk = 6 * 2000 * 4
    # words of the tape, for at most three chunks: the threads decide how many
    made_ready = 3 * 6 * (2000 + 1) * 8
    assert posterior.draws["theta"].nbytes == 50 * one_chunk
    assert len(held) == 51
    assert max(held) - min(held) < made_ready + 2 * one_chunk
