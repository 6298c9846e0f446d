# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Run folders that are damaged, lost, newer or elsewhere: each is named."""

import errno
import hashlib
import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from saved import posterior_of

from dpmcmc.files import FileError, RunFolder, facts, writing
from dpmcmc.files.parts import decode, encode


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A run with two parts and a posterior."""
    with RunFolder.create(tmp_path / "run", {"model": "income"}) as folder:
        folder.keep("start", {"theta": np.arange(3.0)})
        folder.keep("chunk-000000", {"bits": np.ones(5, bool)})
        folder.save_posterior(posterior_of())
    return tmp_path / "run"


def refusal(action: object) -> str:
    with pytest.raises(FileError) as refused:
        action()  # type: ignore[operator]
    assert refused.value.__suppress_context__ or refused.value.__context__ is None
    return str(refused.value)


PART = encode({"theta": np.arange(4.0), "bits": np.ones(3, bool)}, "run 0")


@given(st.integers(0, 8 * len(PART) - 1))
def test_any_flipped_bit_of_a_part_is_found(place: int) -> None:
    data = bytearray(PART)
    data[place // 8] ^= 1 << place % 8
    with pytest.raises(ValueError, match="checksum"):
        decode(bytes(data), "run 0")


@given(st.integers(0, len(PART) - 1))
def test_any_truncation_of_a_part_is_found(length: int) -> None:
    with pytest.raises(ValueError, match="checksum"):
        decode(PART[:length], "run 0")


@given(st.binary(min_size=1, max_size=100))
def test_anything_added_to_a_part_is_found(more: bytes) -> None:
    with pytest.raises(ValueError, match="checksum"):
        decode(PART + more, "run 0")


def test_a_damaged_part_is_named(path: Path) -> None:
    file = path / "parts" / "000001.chunk-000000.npz"
    whole = file.read_bytes()
    for damaged in (whole[:-1], b"", whole[:50] + b"x" + whole[51:]):
        file.write_bytes(damaged)
        folder = RunFolder.open(path)
        told = refusal(lambda folder=folder: folder.read("chunk-000000"))
        assert told.startswith(
            f"{file} is damaged, or belongs to another run. Restore a whole"
        )
        assert folder.read("start")["theta"].size == 3
    file.write_bytes(whole)
    assert RunFolder.open(path).read("chunk-000000")["bits"].all()


def test_parts_that_change_places_are_found(path: Path) -> None:
    one, two = sorted((path / "parts").iterdir())
    mine, theirs = one.read_bytes(), two.read_bytes()
    one.write_bytes(theirs)
    two.write_bytes(mine)
    assert "is damaged" in refusal(lambda: RunFolder.open(path).read("start"))


def test_a_part_of_another_run_is_found(path: Path, tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "other", {}) as other:
        other.keep("start", {"theta": np.arange(3.0)})
    name = "parts/000000.start.npz"
    (path / name).write_bytes((tmp_path / "other" / name).read_bytes())
    assert "another run" in refusal(lambda: RunFolder.open(path).read("start"))


def test_a_part_that_is_gone_is_found(path: Path) -> None:
    (path / "parts" / "000000.start.npz").unlink()
    told = refusal(RunFolder.open(path).parts)
    assert told.startswith(f"{path / 'parts'} is damaged: its file 000000 is missing")


def test_all_parts_gone_are_named(path: Path) -> None:
    for file in (path / "parts").iterdir():
        file.unlink()
    (path / "parts").rmdir()
    assert f"there is no file {path / 'parts'}" in refusal(RunFolder.open(path).parts)


# run.json.


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "nowhere"
    assert refusal(lambda: RunFolder.open(path)) == (
        f"there is no folder {path}. Give the folder of a run."
    )


@pytest.mark.parametrize("write", [False, True])
def test_a_folder_without_facts(tmp_path: Path, write: bool) -> None:
    told = refusal(lambda: RunFolder.open(tmp_path, write=write))
    assert told.startswith(f"there is no {tmp_path / 'run.json'}: the folder does")
    assert list(tmp_path.iterdir()) == []


def test_any_changed_fact_is_found(path: Path) -> None:
    file = path / "run.json"
    whole = file.read_text()
    for damaged in (
        "",
        whole[:-3],
        whole.replace("income", "incomE"),
        whole.replace('"format": 1', '"format": 2'),
        "[]",
        "3",
        "null",
        "[" * 100_000,
        "{}",
        '{"sha256": 1}',
    ):
        file.write_text(damaged)
        told = refusal(lambda: RunFolder.open(path))
        assert told.startswith(f"{file} is damaged, or was edited by hand. Restore")
    file.write_bytes(b"\xff\xfe\x00")
    assert "is damaged" in refusal(lambda: RunFolder.open(path))


def test_a_newer_version(path: Path) -> None:
    content = {"format": facts.FORMAT + 1, "what": "ever"}
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    (path / "run.json").write_text(json.dumps({**content, "sha256": digest}))
    told = refusal(lambda: RunFolder.open(path))
    assert f"{path / 'run.json'} has format 2, and this dpmcmc reads up to 1" in told
    assert "Install that version" in told


# The posterior.


def test_no_posterior_yet(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "run", {}) as folder:
        told = refusal(folder.posterior)
    assert f"there is no {tmp_path / 'run' / 'posterior.nc'}" in told
    assert "--resume" in told


def test_any_damage_of_a_posterior_is_found(
    path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = path / "posterior.nc"
    whole = file.read_bytes()
    places = [*range(0, len(whole), 97), *range(len(whole) - 80, len(whole))]
    flipped = [whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in places]
    for damaged in [*flipped, whole[: len(whole) // 2], whole[:-1], b"", b"no netCDF"]:
        file.write_bytes(damaged)
        told = refusal(RunFolder.open(path).posterior)
        assert told.startswith(f"{file} is not a posterior that dpmcmc saved, or it is")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("stop", range(1, 7))
def test_a_crash_while_saving_leaves_one_posterior_or_the_other(
    path: Path, monkeypatch: pytest.MonkeyPatch, stop: int
) -> None:
    """Each rename in turn, before or after it, is the last thing that happens."""
    done = 0
    rename = Path.replace

    def crash(file: Path, target: Path) -> Path:
        nonlocal done
        for moment in ("before", "after"):
            done += 1
            if done == stop:
                raise KeyboardInterrupt
            if moment == "before":
                rename(file, target)
        return target

    with RunFolder.open(path, write=True) as folder:
        monkeypatch.setattr(Path, "replace", crash)
        with pytest.raises(KeyboardInterrupt):
            folder.save_posterior(posterior_of(1))
        monkeypatch.undo()
    found = RunFolder.open(path).posterior().draws["mean"]
    old, new = (posterior_of(seed).draws["mean"] for seed in (0, 1))
    assert np.array_equal(found, old) or np.array_equal(found, new)
    with RunFolder.open(path, write=True) as folder:
        assert not list(path.rglob(".*"))
        folder.save_posterior(posterior_of(1))


# Folders that cannot be written.


def test_a_folder_that_holds_a_run(path: Path) -> None:
    told = refusal(lambda: RunFolder.create(path, {}))
    assert told == (
        f"{path} holds a run already. Continue that run (--resume), or give another "
        "folder."
    )
    assert RunFolder.open(path).facts == {"model": "income"}


def test_a_folder_that_holds_other_things(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    told = refusal(lambda: RunFolder.create(tmp_path, {}))
    assert told.startswith(f"{tmp_path} holds other things, such as 'thesis.tex'.")
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_folder_whose_maker_died_at_once(tmp_path: Path) -> None:
    (tmp_path / "lock").touch()
    (tmp_path / "parts").mkdir()
    (tmp_path / ".run.json.unfinished").touch()
    with RunFolder.create(tmp_path, {"a": 1}) as folder:
        assert folder.facts == {"a": 1}


@pytest.mark.parametrize("where", ["file", "file/run"])
def test_a_file_in_the_way(tmp_path: Path, where: str) -> None:
    (tmp_path / "file").touch()
    told = refusal(lambda: RunFolder.create(tmp_path / where, {}))
    assert str(tmp_path / where) in told


@pytest.mark.parametrize(
    ("number", "reason", "advice"),
    [
        (errno.ENOSPC, "no space left on device", "Make room on the disk"),
        (errno.EDQUOT, "disk quota exceeded", "Make room on the disk"),
        (errno.EROFS, "read-only file system", "Make the folder writable, or give"),
        (errno.EACCES, "permission denied", "Make the folder writable, or give"),
        (errno.EIO, "input/output error", "Check the folder and the disk, or give"),
    ],
)
def test_what_the_system_refuses_is_said(
    path: Path, monkeypatch: pytest.MonkeyPatch, number: int, reason: str, advice: str
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    with RunFolder.open(path, write=True) as folder:
        monkeypatch.setattr(writing.os, "fsync", refuse)
        file = path / "parts" / "000002.chunk-000001.npz"
        told = refusal(lambda: folder.keep("chunk-000001", {"a": np.ones(2)}))
        assert told.startswith(f"{file} cannot be written ({reason}). {advice}")
        assert "cannot be" in refusal(lambda: folder.save_posterior(posterior_of(1)))
        monkeypatch.undo()
        assert folder.posterior().draws["mean"].shape == (2, 10)
        assert folder.parts() == ("start", "chunk-000000")
        assert not list(path.rglob(".*"))
        folder.keep("chunk-000001", {"a": np.ones(2)})


def test_a_folder_that_may_not_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    told = refusal(lambda: RunFolder.create(tmp_path / "run", {}))
    assert f"{tmp_path / 'run'} cannot be written (permission denied)" in told
