# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Several processes draw what one draws, bit for bit; and agree before they read."""

from pathlib import Path

import jax
import numpy as np
import parts
import pytest

import dpmcmc
from dpmcmc import processes
from dpmcmc.errors import InputError
from dpmcmc.private.sources import TableFile
from dpmcmc.private.units import grouped
from dpmcmc.sampling import together


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("records")
    parts.write(made)
    return made


def digests(folder: Path, number: int, runs: list[str], devices: int = 1) -> list[str]:
    """What processes that run together found: they found the same."""
    together = parts.started("parts.py", folder, number, *runs, devices=devices)
    found = []
    ended = [one.communicate(timeout=600) for one in together]
    for one, (out, err) in zip(together, ended, strict=True):
        assert one.returncode == 0, err[-3000:]
        lines = out.splitlines()
        found.append([line[7:] for line in lines if line.startswith("digest ")])
    assert all(one == found[0] for one in found)
    return found[0]


def test_two_processes_draw_what_one_draws(folder: Path) -> None:
    """Default runs, and products of matrices; 211 and 390 records."""
    runs = ["slope:default:float32", "logistic:barker:float32:2"]
    runs += ["units-logistic:barker:float32", "streamed-logistic:barker:float32:2"]
    runs += ["linear:default:float32"]
    alone = [parts.digest_of(folder, run) for run in runs]
    assert alone[1] == alone[3]
    assert digests(folder, 2, runs) == alone


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "devices"), [(1, 4), (2, 1), (2, 4), (3, 1), (3, 4), (4, 1), (4, 4)]
)
def test_processes_and_devices_draw_what_one_draws(
    folder: Path, number: int, devices: int
) -> None:
    """With four processes, one of them has no record."""
    runs = [f"{model}:default:float32" for model in parts.MODELS]
    runs += [f"{model}:barker:float64:2" for model in parts.MODELS]
    runs += ["logistic:batch:float32", "elementwise:batch:float64:2"]
    runs += ["linear:statistics:float64", "units-slope:default:float32"]
    runs += [f"streamed-{runs[0]}", "streamed-poisson:barker:float64:2"]
    alone = [parts.digest_of(folder, run) for run in runs]
    assert digests(folder, number, runs, devices) == alone


def test_one_part_is_all_records(folder: Path) -> None:
    records = dpmcmc.Records.from_parquet(folder)
    assert records.sizes == (sum(parts.SIZES),)
    assert len(records) == sum(parts.SIZES)


def test_several_processes_need_records_in_parts(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(together, "together", lambda: 2)
    with pytest.raises(InputError, match="in parts"):
        dpmcmc.sample(
            parts.MODELS["elementwise"],
            {"a": np.zeros(9), "y": np.zeros(9)},
            epsilon=1.0,
            delta=1e-6,
        )


def test_processes_with_other_tables_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    def said(message: bytes) -> list[bytes]:
        return [message, message[:-1] + bytes([message[-1] ^ 1])]

    monkeypatch.setattr(processes, "from_each", said)
    with pytest.raises(InputError, match="one table"):
        dpmcmc.Records(np.zeros(9), in_parts=True)


def test_the_number_of_records_is_that_of_all_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def said(message: bytes) -> list[bytes]:
        return [message, (0).to_bytes(8) + message[8:], message]

    monkeypatch.setattr(processes, "from_each", said)
    assert dpmcmc.Records(np.zeros(9), in_parts=True).sizes == (9, 0, 9)


def test_units_of_tables_in_memory_are_not_in_parts() -> None:
    with pytest.raises(InputError, match="Parquet"):
        dpmcmc.Records(
            {"id": np.arange(3), "x": np.zeros(3)}, unit="id", most=1, in_parts=True
        )


def test_units_in_parts_are_those_of_the_whole(folder: Path) -> None:
    """Also of units whose records are in several row groups, as most are."""
    given = parts.SETTINGS["units-"]["schema"]
    file = dpmcmc.files.DataFile(folder, ["a", "b", "y"], schema=given)
    whole = grouped(TableFile(file, ("a", "b", "y")), "person", 3)
    assert whole.of.units > 200
    some = [whole.part(number, 4).read() for number in range(4)]
    for parts_, all_ in zip(
        zip(*map(jax.tree.leaves, some), strict=True),
        jax.tree.leaves(whole.read()),
        strict=True,
    ):
        np.testing.assert_array_equal(np.concatenate(parts_), all_)
