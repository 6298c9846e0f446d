# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Profiles on disk: used only if intact and for exactly what was asked."""

import os

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
        lambda content: b"",
        lambda content: content[: len(content) // 2],
        lambda content: b"[]",
        # One bit of a stored number, and one of a stored name.
        lambda content: turned(content, np.float64(0.1).tobytes()),
        lambda content: turned(content, b"deltas"),
    ],
)
def test_a_damaged_file_is_computed_again(folder, damage):
    compute, calls = made()
    cache.cached_profile({"b": 3}, compute)
    (path,) = folder.iterdir()
    path.write_bytes(damage(path.read_bytes()))
    again = cache.cached_profile({"b": 3}, compute)
    assert len(calls) == 2
    assert again.deltas[0] == 0.1
    assert cache.cached_profile({"b": 3}, compute).deltas[0] == 0.1
    assert len(calls) == 2


def turned(content: bytes, part: bytes) -> bytes:
    place = content.index(part)
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


def test_a_file_of_other_parameters_is_not_used(folder):
    compute, calls = made()
    cache.cached_profile({"b": 3}, compute)
    (path,) = folder.iterdir()
    other, _ = made(0.2)
    cache.cached_profile({"b": 4}, other)
    (theirs,) = set(folder.iterdir()) - {path}
    path.write_bytes(theirs.read_bytes())
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


@pytest.mark.parametrize("who", ["folder", "file"])
@pytest.mark.parametrize("mode", [0o020, 0o002])
def test_what_others_may_write_is_not_trusted(folder, who, mode):
    """Someone else may have put a profile there that understates the cost."""
    compute, calls = made()
    cache.cached_profile({"b": 3}, compute)
    (path,) = folder.iterdir()
    target = folder if who == "folder" else path
    target.chmod(target.stat().st_mode | mode)
    cache.cached_profile({"b": 3}, compute)
    assert len(calls) == 2
    if who == "folder":
        cache.cached_profile({"b": 4}, compute)
        assert list(folder.iterdir()) == [path]


def test_what_others_own_is_not_trusted(folder, monkeypatch):
    compute, calls = made()
    cache.cached_profile({"b": 3}, compute)
    another = os.getuid() + 1
    monkeypatch.setattr(os, "getuid", lambda: another)
    cache.cached_profile({"b": 3}, compute)
    cache.cached_profile({"b": 4}, compute)
    assert len(calls) == 3
    assert len(list(folder.iterdir())) == 1


def test_a_platform_without_owners_keeps_nothing(folder, monkeypatch):
    monkeypatch.delattr(os, "getuid")
    compute, calls = made()
    for expected in (1, 2):
        cache.cached_profile({"b": 3}, compute)
        assert len(calls) == expected
    assert not list(folder.iterdir())


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
