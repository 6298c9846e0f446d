# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What the README shows is what happens."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
MOST_LINES = 150


def block(language: str) -> str:
    """The one fenced block of a language."""
    (found,) = re.findall(rf"```{language}\n(.*?)```", README, re.S)
    return str(found)


def test_the_quickstart_prints_what_the_readme_shows(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A private run is random, but what is printed of it hardly is.

    The label follows from public numbers. The mean is rounded to 0.01: it would have to
    be wrong by 15 posterior sd to be shown otherwise.
    """
    names: dict[str, object] = {}
    exec(block("python"), names)
    assert capsys.readouterr().out == block("text")


def test_the_quickstart_is_ten_lines() -> None:
    lines = [line for line in block("python").splitlines() if line.strip()]
    assert len(lines) <= 10


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= MOST_LINES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text("utf-8"))
    missing = [
        link
        for link in links
        if "://" not in link and not (page.parent / link).exists()
    ]
    assert missing == []


def test_both_commands_are_targets_of_make() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    commands = re.findall(r"^make (\w+)", README, re.M)
    assert commands[:2] == ["demo", "test"]
    for command in commands:
        assert re.search(rf"^{command}:", makefile, re.M), command
