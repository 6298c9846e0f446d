# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The example notebooks run, from top to bottom, and what they end with is shown.

Cells are run here without a notebook, so that no kernel is needed; `make docs` runs
them in one. They are kept without outputs, which would go stale.
"""

import ast
import json
import warnings
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest

from dpmcmc.posterior import Posterior

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))


def cells(notebook: Path, kind: str) -> list[str]:
    found = json.loads(notebook.read_text("utf-8"))["cells"]
    return ["".join(one["source"]) for one in found if one["cell_type"] == kind]


def run_cell(code: str, names: dict[str, Any]) -> Any:
    """Run a cell, and return what a notebook would show below it."""
    tree = ast.parse(code)
    is_shown = isinstance(tree.body[-1], ast.Expr) and not code.endswith(";")
    last = tree.body.pop() if is_shown else None
    exec(compile(tree, "cell", "exec"), names)
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda one: one.stem)
def test_a_notebook_runs(
    notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if notebook.stem == "pymc":
        pytest.importorskip("pymc")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(mpl, "rcParams", mpl.rcParams.copy())
    mpl.use("Agg")
    names: dict[str, Any] = {"__name__": "__main__"}
    shown = []
    with warnings.catch_warnings():
        # of ArviZ and NumPyro, which those who run notebooks see as they are
        warnings.simplefilter("ignore")
        for code in cells(notebook, "code"):
            result = run_cell(code, names)
            if hasattr(result, "_repr_html_"):
                shown.append((result, result._repr_html_()))
    posteriors = [html for one, html in shown if isinstance(one, Posterior)]
    assert posteriors
    for html in posteriors:
        assert "-private" in html
        assert "Not usable" not in html


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda one: one.stem)
def test_a_notebook_is_kept_without_outputs(notebook: Path) -> None:
    whole = json.loads(notebook.read_text("utf-8"))
    for cell in whole["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None
    assert cells(notebook, "markdown")[0].startswith("# ")


def test_there_is_a_notebook_for_each_way_in() -> None:
    assert {"formula", "numpyro", "persons", "pymc", "synthetic"} <= {
        one.stem for one in NOTEBOOKS
    }
