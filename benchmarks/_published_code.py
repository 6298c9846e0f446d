# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Models out of published files, as they stand: a function, or a ``with`` statement.

Read are Python files, notebooks, and notebooks as text. Of a file, its imports and one
model are run, and no other statement. Lines of a model's ``with`` that draw samples or
a picture are left out.
"""

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

__all__ = ["function_in", "with_in"]

_CELL = re.compile(r"^```\{code-cell\}[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_HEADER = re.compile(r"\A(---\n.*?^---\n|(:[^\n]*\n)*)", re.MULTILINE | re.DOTALL)


def function_in(path: Path, name: str, given: Mapping[str, Any]) -> Callable[..., Any]:
    """The first function of that name, with what else it reads from its file given."""
    (node, *_) = [
        one
        for one in _statements(path)
        if isinstance(one, ast.FunctionDef) and one.name == name
    ]
    names = {**_imported(path), **given}
    exec(_compiled(node, path), names)
    found: Callable[..., Any] = names[name]
    return found


def with_in(
    path: Path, name: str, place: Callable[[Any], Mapping[str, Any]]
) -> Callable[..., Any]:
    """A function of columns that runs ``with pm.Model(…) as name`` and returns it.

    ``place`` says under which names the statement finds the columns, and other data.
    """
    (node, *_) = [
        one
        for one in _statements(path)
        if isinstance(one, ast.With) and _name_of(one) == name
    ]
    node.body = [one for one in node.body if not _draws(one)]
    code, imported = _compiled(node, path), _imported(path)

    def model(**columns: Any) -> Any:
        names = {**imported, **place(Columns(columns))}
        exec(code, names)
        return names[name]

    return model


class Columns(dict[str, Any]):
    """Columns by name, also as attributes, as in a table."""

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        raise AttributeError(name)


def _statements(path: Path) -> Iterator[ast.stmt]:
    for text in _cells(path):
        lines = (line for line in text.splitlines() if line[:1] not in ("%", "!"))
        try:
            yield from ast.parse("\n".join(lines)).body
        except SyntaxError:  # a cell of some other language
            continue


def _cells(path: Path) -> list[str]:
    text = path.read_text()
    if path.suffix == ".ipynb":
        cells = [one for one in json.loads(text)["cells"] if one["cell_type"] == "code"]
        return ["".join(one["source"]) for one in cells]
    if path.suffix == ".md":
        return [_HEADER.sub("", cell) for cell in _CELL.findall(text)]
    return [text]


def _imported(path: Path) -> dict[str, Any]:
    """What the file imports, of what is installed here."""
    names: dict[str, Any] = {}
    for one in _statements(path):
        if isinstance(one, ast.Import | ast.ImportFrom):
            try:
                exec(_compiled(one, path), names)
            except ImportError:
                continue
    return names


def _compiled(node: ast.stmt, path: Path) -> Any:
    return compile(ast.Module([node], []), str(path), "exec")


def _name_of(node: ast.With) -> str | None:
    target = node.items[0].optional_vars
    return target.id if isinstance(target, ast.Name) else None


def _draws(statement: ast.stmt) -> bool:
    return any(
        isinstance(one, ast.Attribute) and one.attr in _DRAWING
        for one in ast.walk(statement)
    )


_DRAWING = ("sample", "sample_posterior_predictive", "model_to_graphviz")
