# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Links from names in docstrings to the page that documents them.

A docstring says `RandomWalk`; the reference has it once, as ``dpmcmc.RandomWalk``. A
name of another library, or of a part that is not public, stays plain text. Any other
name that leads nowhere is a warning, and so an error of the build.
"""

import ast
import builtins
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.nodes import make_refnode

_PACKAGE = Path(__file__).parents[2] / "src" / "dpmcmc"


def _resolve(app: Sphinx, env: Any, node: Any, content: nodes.Element) -> Any:
    if node.get("refdomain") != "py":
        return None
    target, name = node["reftarget"], node["reftarget"].rpartition(".")[2]
    objects = env.get_domain("py").objects
    found = sorted((key for key in objects if _is_meant(key, target, objects)), key=len)
    if found:
        entry = objects[found[0]]
        return make_refnode(
            app.builder,
            node["refdoc"],
            entry.docname,
            entry.node_id,
            content,
            found[0],
        )
    return content if _is_known(target, name) else None


def _is_meant(key: str, target: str, objects: Any) -> bool:
    """Whether the reference's entry is what a name or the end of a path stands for."""
    if objects[key].objtype in {"class", "exception", "function"}:
        return key.rpartition(".")[2] == target.rpartition(".")[2]
    return "." in target and key.endswith("." + ".".join(target.split(".")[-2:]))


def _is_known(target: str, name: str) -> bool:
    """Whether a name is of another library, or of ours though not in the reference."""
    outside = "." in target and not target.startswith("dpmcmc")
    return outside or name in _names()


@cache
def _names() -> set[str]:
    """Every name that the package defines: modules, classes, functions, arguments."""
    found = {"NaN", *dir(builtins)}
    for path in _PACKAGE.rglob("*.py"):
        found |= {path.stem, path.parent.name}
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                found.add(node.name)
            elif isinstance(node, ast.arg):
                found.add(node.arg)
            elif isinstance(node, ast.Name):
                found.add(node.id)
            elif isinstance(node, ast.alias):
                found.add((node.asname or node.name).split(".")[-1])
    return found


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx."""
    app.connect("missing-reference", _resolve)
    return {"parallel_read_safe": True}
