# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What the README shows is what happens."""

import re
from pathlib import Path

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text()
PYTHON = re.findall(r"```python\n(.*?)```", README, re.S)


def test_the_quickstart_runs_and_says_what_it_cost(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert len(PYTHON) == 1
    names: dict[str, object] = {}
    exec(PYTHON[0], names)
    printed = capsys.readouterr().out
    assert "Privacy: ε = " in printed
    assert "100,000 records" in printed
    assert "NOT PRIVATE" not in printed


def test_the_quickstart_is_ten_lines() -> None:
    lines = [line for line in PYTHON[0].splitlines() if line.strip()]
    assert len(lines) <= 11


def test_links_lead_somewhere() -> None:
    root = Path(__file__).parents[1]
    pages = [root / "README.md", *root.glob("*.md"), *root.glob("docs/**/*.md")]
    for page in pages:
        for link in re.findall(r"\]\(([^)#\s]+)\)", page.read_text()):
            if "://" not in link:
                assert (page.parent / link).exists(), f"{page.name} links to {link}"


def test_both_commands_are_targets_of_make() -> None:
    makefile = (Path(__file__).parents[1] / "Makefile").read_text()
    for command in re.findall(r"^make (\w+)", README, re.M):
        assert re.search(rf"^{command}:", makefile, re.M), command
