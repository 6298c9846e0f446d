# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""One process at a time writes to a run folder, and a full disk loses nothing."""

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from saved import posterior_of

from dpmcmc.files import FileError, RunFolder, run_folder

HOLD = """
import sys
from dpmcmc.files import RunFolder
folder = RunFolder.open(sys.argv[1], write=True)
print("held", flush=True)
sys.stdin.read()
"""

RACE = """
import sys
from dpmcmc.files import FileError, RunFolder
sys.stdin.readline()
try:
    folder = RunFolder.create(sys.argv[1], {"by": sys.argv[2]})
    print("made", flush=True)
except FileError as error:
    print(error, flush=True)
sys.stdin.read()
"""

FULL = """
import resource, signal, sys
import numpy as np
from dpmcmc.files import FileError, RunFolder
sys.path[:0] = sys.argv[2:]
from saved import posterior_of
folder = RunFolder.open(sys.argv[1], write=True)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, resource.RLIM_INFINITY))
def told(action):
    try:
        action()
    except FileError as error:
        print(error, flush=True)
told(lambda: folder.keep("large", {"x": np.ones(5000)}))
told(lambda: folder.save_posterior(posterior_of(1)))
folder.keep("small", {"x": np.ones(5)})
"""


def start(code: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    RunFolder.create(tmp_path / "run", {}).close()
    return tmp_path / "run"


def refused(path: Path, action: object) -> None:
    with pytest.raises(FileError) as refusal:
        action()  # type: ignore[operator]
    assert str(refusal.value) == (
        f"{path} is in use: another run is writing to it. Wait until it ends, or give "
        "another folder."
    )


def test_a_second_writer_is_refused_until_the_first_is_killed(path: Path) -> None:
    reader = RunFolder.open(path)
    with start(HOLD, str(path)) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        refused(path, lambda: RunFolder.open(path, write=True))
        assert reader.parts() == ()  # to read is free
        holder.send_signal(signal.SIGKILL)
    with RunFolder.open(path, write=True) as folder:
        folder.keep("start", {})


def test_the_lock_ends_with_the_block(path: Path) -> None:
    with RunFolder.open(path, write=True):
        refused(path, lambda: RunFolder.open(path, write=True))
    RunFolder.open(path, write=True).close()
    RunFolder.open(path, write=True).close()


def test_who_has_no_lock_writes_nothing(path: Path) -> None:
    reader = RunFolder.open(path)
    with RunFolder.open(path, write=True) as closed:
        pass
    for folder in (reader, closed):
        for write in (
            lambda folder=folder: folder.keep("start", {}),
            lambda folder=folder: folder.note({"a": 1}),
            lambda folder=folder: folder.save_posterior(posterior_of()),
            folder.discard,
        ):
            with pytest.raises(FileError, match="Open it with write=True"):
                write()
    assert RunFolder.open(path).facts == {}
    assert RunFolder.open(path).parts() == ()


def test_who_takes_the_lock_sees_what_was_written(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also what was written while it waited at the door."""
    lock = run_folder.Lock

    def after_another(file: Path) -> object:
        monkeypatch.undo()
        with RunFolder.open(path, write=True) as first:
            first.keep("start", {})
            first.note({"by": "first"})
        return lock(file)

    monkeypatch.setattr(run_folder, "Lock", after_another)
    with RunFolder.open(path, write=True) as late:
        late.keep("chunk-000000", {})
        late.note({"then": "late"})
    again = RunFolder.open(path)
    assert again.parts() == ("start", "chunk-000000")
    assert again.facts == {"by": "first", "then": "late"}


def test_one_of_many_makes_the_folder(tmp_path: Path) -> None:
    path = tmp_path / "run"
    racers = [start(RACE, str(path), str(place)) for place in range(4)]
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("\n")
        racer.stdin.flush()
    told = [racer.stdout.readline().strip() for racer in racers if racer.stdout]
    for racer in racers:
        racer.communicate()
    assert told.count("made") == 1
    winner = str(told.index("made"))
    assert RunFolder.open(path).facts == {"by": winner}
    for words in told:
        assert words == "made" or "is in use" in words or "holds a run alrea" in words


def test_who_comes_second_by_a_moment_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run"
    lock = run_folder.Lock

    def after_another(file: Path) -> object:
        monkeypatch.undo()
        RunFolder.create(path, {"by": "another"}).close()
        return lock(file)

    monkeypatch.setattr(run_folder, "Lock", after_another)
    with pytest.raises(FileError, match="holds a run already"):
        RunFolder.create(path, {"by": "me"})
    assert RunFolder.open(path, write=True).facts == {"by": "another"}


def test_files_that_may_not_grow_are_said_and_nothing_is_lost(path: Path) -> None:
    with RunFolder.open(path, write=True) as folder:
        folder.keep("start", {"x": np.ones(5)})
    child = start(FULL, str(path), *map(str, Path(__file__).parents[:2]))
    told, _ = child.communicate()
    assert child.returncode == 0
    large, posterior = told.splitlines()
    file = path / "parts" / "000001.large.npz"
    assert large.startswith(f"{file} cannot be written (file too large). Make room on")
    assert posterior.startswith(f"{path / 'posterior.nc'} cannot be written")
    assert RunFolder.open(path).parts() == ("start", "small")
    assert not list(path.rglob(".*"))


def test_a_folder_whose_run_never_began_can_be_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with RunFolder.create(path, {"by": "one"}) as folder:
        folder.discard()
    assert list(path.iterdir()) == []
    with RunFolder.create(path, {"by": "two"}) as folder:
        folder.keep("start", {})
        with pytest.raises(FileError, match="holds what a run released"):
            folder.discard()
    assert RunFolder.open(path).facts == {"by": "two"}


def test_a_lock_that_was_removed_is_no_lock(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who waited at the door of a folder that was taken back may not go in."""
    import fcntl

    take = fcntl.flock

    def remove_and_take(descriptor: int, how: int) -> None:
        (path / "lock").unlink()
        take(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", remove_and_take)
    refused(path, lambda: RunFolder.open(path, write=True))
