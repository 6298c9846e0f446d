# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The documentation builds without a warning, and needs no network to be read."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("myst_nb") is None, reason="needs dpmcmc[docs]"
    ),
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs")
    options = ["-W", "--keep-going", "-n", "-q", "-j", "2", "-b", "html"]
    built = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, str(DOCS), str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr[-4000:]
    return folder


def test_pages_load_nothing_from_a_network(site: Path) -> None:
    loads = re.compile(
        r'<(?:script|img|iframe)[^>]*src="https?:|<link[^>]*href="https?:'
    )
    pages = list(site.rglob("*.html"))
    assert len(pages) > 40
    assert [page.name for page in pages if loads.search(page.read_text())] == []


def test_guarantees_are_boxes_beside_their_proofs(site: Path) -> None:
    page = (site / "reference" / "guarantees.html").read_text()
    boxes = page.count('class="guarantee admonition"')
    assert boxes > 50
    assert page.count("Proof: ") == boxes


def test_examples_left_pictures_and_statements(site: Path) -> None:
    for name in ("index", "tutorial/index"):
        page = (site / f"{name}.html").read_text()
        assert "Privacy: ε = " in page
        assert '<img alt="' in page
    commands = (site / "tutorial" / "commands.html").read_text()
    assert "Head, to keep elsewhere" in commands


def test_every_command_is_in_the_reference(site: Path) -> None:
    page = (site / "reference" / "command.html").read_text()
    for name in ("sample", "rehearse", "plan", "report", "demo", "ledger-verify"):
        assert f'<section id="dpmcmc-{name}"' in page


def test_formulas_have_indices(site: Path) -> None:
    page = (site / "proofs" / "composition.html").read_text()
    assert "V<sub>k+1</sub>" in page
    assert "e<sup>ε</sup>" in page
