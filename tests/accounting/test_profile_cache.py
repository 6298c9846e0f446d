# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Profiles on disk: used only if intact and for exactly what was asked."""

import json

import numpy as np
import pytest

from dpmcmc.accounting import cache
from dpmcmc.accounting.profiles import Profile


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("DPMCMC_CACHE", str(tmp_path / "kept"))
    return tmp_path / "kept"


def made(value=0.1):
    calls = []

    def compute():
        calls.append(1)
        return Profile(np.array([0.0, 1 / 3]), np.array([value, 1e-17]))

    return compute, calls


def test_a_profile_is_computed_once_and_kept_bit_for_bit(folder):
    compute, calls = made()
    first = cache.cached_profile({"b": 3}, compute)
    second = cache.cached_profile({"b": 3}, compute)
    assert len(calls) == 1
    assert second.epsilons.tolist() == first.epsilons.tolist() == [0.0, 1 / 3]
    assert second.deltas.tolist() == first.deltas.tolist()
    cache.cached_profile({"b": 4}, compute)
    assert len(calls) == 2
    assert len(list(folder.iterdir())) == 2


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text[: len(text) // 2],
        lambda text: text.replace("0.1", "0.01", 1),
        lambda text: text.replace('"b', '"c'),
        lambda text: "[]",
        lambda text: json.dumps({"body": 3, "digest": 4}),
    ],
)
def test_a_damaged_file_is_computed_again(folder, damage):
    compute, calls = made()
    cache.cached_profile({"b": 3}, compute)
    (path,) = folder.iterdir()
    path.write_text(damage(path.read_text()))
    again = cache.cached_profile({"b": 3}, compute)
    assert len(calls) == 2
    assert again.deltas[0] == 0.1
    assert cache.cached_profile({"b": 3}, compute).deltas[0] == 0.1
    assert len(calls) == 2


def test_a_file_of_other_parameters_is_not_used(folder):
    compute, calls = made()
    cache.cached_profile({"b": 3}, compute)
    (path,) = folder.iterdir()
    other, _ = made(0.2)
    cache.cached_profile({"b": 4}, other)
    (theirs,) = set(folder.iterdir()) - {path}
    path.write_text(theirs.read_text())
    assert cache.cached_profile({"b": 3}, compute).deltas[0] == 0.1
    assert len(calls) == 2


def test_other_code_makes_other_files(folder, monkeypatch):
    compute, calls = made()
    cache.cached_profile({"b": 3}, compute)
    monkeypatch.setattr(cache, "_code", lambda: "another")
    cache.cached_profile({"b": 3}, compute)
    assert len(calls) == 2


def test_a_folder_that_cannot_be_written_costs_only_time(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DPMCMC_CACHE", str(tmp_path / "file"))
    compute, calls = made()
    for expected in (1, 2):
        assert cache.cached_profile({"b": 3}, compute).deltas[0] == 0.1
        assert len(calls) == expected


def test_where_profiles_are_kept(tmp_path, monkeypatch):
    monkeypatch.delenv("DPMCMC_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.cache_folder() == tmp_path / "dpmcmc"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    assert cache.cache_folder() == tmp_path / ".cache" / "dpmcmc"
    monkeypatch.setattr("sys.platform", "darwin")
    assert cache.cache_folder() == tmp_path / "Library" / "Caches" / "dpmcmc"
