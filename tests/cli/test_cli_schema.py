# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""``dpmcmc schema``: a template that a person fills in."""

from pathlib import Path

import pytest

from dpmcmc import read_schema
from dpmcmc.cli import main


def test_a_template_is_written_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, place = tmp_path / "people.csv", tmp_path / "schema.yaml"
    data.write_text("age,region\n4711,north\n")
    assert main(["schema", str(data)]) == 0
    printed = capsys.readouterr().out
    assert main(["schema", str(data), "--out", str(place)]) == 0
    assert place.read_text() == printed
    assert "4711" not in printed
    text = printed.replace("type:\n", "type: number\n", 1)
    place.write_text(text.replace("type:\n", "levels: [north, south]\n", 1))
    assert main(["schema", str(data), "--out", str(place)]) == 2
    assert "4711" not in capsys.readouterr().err


def test_what_was_filled_in_is_read(tmp_path: Path) -> None:
    place = tmp_path / "schema.yaml"
    place.write_text("unit: who\nmost: 3\ncolumns:\n  no: {levels: [yes, no]}\n")
    schema = read_schema(place)
    assert (schema.unit, schema.most) == ("who", 3)
    assert schema.columns["no"].levels == ("yes", "no")
