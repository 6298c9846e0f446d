# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Compiled programs on disk: the same for all records, and only where they may be."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from jax.experimental.compilation_cache.compilation_cache import reset_cache

import dpmcmc
from dpmcmc.sampling import compiled

FOLDER = "jax_compilation_cache_dir"
WALK = dpmcmc.Barker(clip=0.1, proposal=dpmcmc.RandomWalk(0.1))


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of programs, of a user who has no cache of JAX's own."""
    own = getattr(jax.config, FOLDER)
    monkeypatch.setenv("DPMCMC_CACHE", str(tmp_path))
    jax.config.update(FOLDER, None)
    reset_cache()
    yield tmp_path / "compiled"
    jax.config.update(FOLDER, own)
    reset_cache()


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def walked(model: dpmcmc.Model, records: np.ndarray) -> None:
    """A short run, whose programs are compiled or read from disk."""
    jax.clear_caches()
    dpmcmc.sample(model, records, delta=1e-6, method=WALK, steps=5, progress=False)


def test_programs_are_the_same_for_all_records_budgets_and_tapes(
    model: dpmcmc.Model, kept: Path
) -> None:
    """A whole default run, on neighbours and on a table with nothing in common.

    A number of a record, or one that was released, in a program would make another key.
    """
    first = np.random.default_rng(1).normal(0.3, 1.0, size=3000)
    neighbour, other = first.copy(), 2 * first[::-1] - 1.0
    neighbour[7] = 40.0
    found = []
    for records, epsilon in ((first, 20.0), (neighbour, 20.0), (other, 25.0)):
        jax.clear_caches()
        dpmcmc.sample(model, records, epsilon=epsilon, delta=1e-6, progress=False)
        found.append(names(kept))
    assert found[0] == found[1] == found[2]
    assert len(found[0]) > 5


def test_settings_of_jax_are_as_they_were(
    model: dpmcmc.Model, records: np.ndarray, kept: Path
) -> None:
    walked(model, records)
    before = names(kept)
    assert before
    assert getattr(jax.config, FOLDER) is None
    jax.clear_caches()
    jax.jit(lambda x: x + 1.25)(np.arange(7.0))  # the user's own program
    assert names(kept) == before


def test_they_are_switched_off_by_a_variable(
    model: dpmcmc.Model, records: np.ndarray, kept: Path, monkeypatch: Any
) -> None:
    monkeypatch.setenv("DPMCMC_NO_COMPILED", "1")
    walked(model, records)
    assert not kept.exists()


def test_a_cache_of_the_users_own_is_used_instead(
    model: dpmcmc.Model, records: np.ndarray, kept: Path, tmp_path: Path
) -> None:
    own = tmp_path / "own"
    jax.config.update(FOLDER, str(own))
    walked(model, records)
    assert not kept.exists()
    assert getattr(jax.config, FOLDER) == str(own)


def test_a_folder_that_others_may_write_is_not_used(
    model: dpmcmc.Model, records: np.ndarray, kept: Path
) -> None:
    kept.mkdir(mode=0o777)
    kept.chmod(0o777)
    walked(model, records)
    assert not names(kept)


def test_the_oldest_programs_make_room(
    model: dpmcmc.Model, records: np.ndarray, kept: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(compiled, "_MOST_BYTES", 3000)
    walked(model, records)
    assert sum(path.stat().st_size for path in kept.iterdir()) <= 3000


def test_settings_are_restored_where_a_run_fails(kept: Path) -> None:
    def failing() -> None:
        with compiled.kept_programs():
            assert getattr(jax.config, FOLDER) == str(kept)
            raise ValueError("failed")

    with pytest.raises(ValueError, match="failed"):
        failing()
    assert getattr(jax.config, FOLDER) is None
