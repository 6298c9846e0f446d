# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The documentation is complete: every page has a place, every public name an entry."""

import importlib
import pkgutil
import re
from pathlib import Path
from typing import Any

import pytest

import dpmcmc

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(
    page.relative_to(DOCS)
    for kind in ("md", "ipynb")
    for page in DOCS.rglob(f"*.{kind}")
)
EXECUTED = [
    page for page in PAGES if page.parts[0] in {"index.md", "tutorial", "how-to"}
]

# Rooms that users do not import from; the boundary's claims are on a page of their own.
INNER = {"cli", "influence", "private"}


def listed() -> set[Path]:
    """Every page that a toctree names."""
    found: set[Path] = set()
    for page in PAGES:
        text = (DOCS / page).read_text()
        for block in re.findall(r"```\{toctree\}\n(.*?)```", text, re.S):
            for line in block.splitlines():
                entry = line.strip()
                if not entry or entry.startswith(":"):
                    continue
                root = DOCS if entry.startswith("/") else (DOCS / page).parent
                matches = [
                    *root.glob(entry.lstrip("/") + ".md"),
                    *root.glob(entry.lstrip("/") + ".ipynb"),
                ]
                assert matches, f"{page} lists {entry}, which is no page"
                found |= {match.relative_to(DOCS) for match in matches}
    return found


def documented() -> dict[str, Any]:
    """Every object with an entry in the reference, by its full name."""
    found = {}
    for page in (DOCS / "reference").glob("*.md"):
        module = ""
        for line in page.read_text().splitlines():
            if match := re.match(r"\.\. currentmodule:: (\S+)", line):
                module = match[1]
            elif match := re.match(r"\.\. auto(?:function|class|data):: (\w+)", line):
                value = getattr(importlib.import_module(module), match[1])
                found[f"{module}.{match[1]}"] = value
    return found


def rooms() -> list[str]:
    """The package and every room in it whose names are for users."""
    names = [each.name for each in pkgutil.iter_modules(dpmcmc.__path__) if each.ispkg]
    return [
        "dpmcmc",
        "dpmcmc.influence.choices",
        "dpmcmc.model.preparation",
        *(f"dpmcmc.{n}" for n in names if n not in INNER),
    ]


def test_every_page_is_in_a_toctree() -> None:
    assert sorted(set(PAGES) - listed()) == [Path("index.md")]


@pytest.mark.parametrize("room", rooms())
def test_every_public_name_is_in_the_reference(room: str) -> None:
    entries = documented()
    known = {id(value) for value in entries.values()}
    module = importlib.import_module(room)
    missing = [
        name
        for name in getattr(module, "__all__", ())
        if name != "__version__"
        and f"{room}.{name}" not in entries
        and id(getattr(module, name)) not in known
    ]
    assert missing == [], f"add them to a page in docs/reference: {missing}"


@pytest.mark.parametrize("page", EXECUTED, ids=str)
def test_code_of_the_tutorial_and_how_to_pages_is_executed(page: Path) -> None:
    text = (DOCS / page).read_text()
    assert text.startswith("---\nfile_format: mystnb\n")
    assert "```{code-cell}" in text
    assert not re.search(r"^```(python|bash|sh|console)?\n(?=\S)", _outside(text), re.M)


def _outside(text: str) -> str:
    """What is left of a page without its cells and directives."""
    return re.sub(r"^```\{.*?^```$", "", text, flags=re.S | re.M)
