# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Signatures that tie each proof to the code it proves. Run it to sign."""

import ast
import hashlib
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROOFS = Path(__file__).parent
SIGNATURE = re.compile(r"^Code: `(?P<name>[\w.]+)` · signed `(?P<hash>\w+)`$", re.M)

Function = ast.FunctionDef | ast.AsyncFunctionDef


def proven_functions() -> dict[str, str]:
    """Name and hash of every function in the package with a Guarantee block."""
    source = ROOT / "src"
    found = {}
    for path in sorted((source / "dpmcmc").rglob("*.py")):
        module = ".".join(path.relative_to(source).with_suffix("").parts)
        for name, function in _functions(ast.parse(path.read_text()), module):
            if "Guarantee\n" in (ast.get_docstring(function) or ""):
                found[name] = _hash(function)
    return found


def signatures() -> dict[str, tuple[Path, str]]:
    """Name of every function that a proof names, with the file and its hash."""
    found: dict[str, tuple[Path, str]] = {}
    for path in sorted(PROOFS.glob("*.md")):
        for match in SIGNATURE.finditer(path.read_text()):
            if match["name"] in found:
                raise ValueError(f"{match['name']} is proven twice")
            if path.name != "README.md":
                found[match["name"]] = (path, match["hash"])
    return found


def sign() -> None:
    """Write the present hash of each proven function into its proof."""
    hashes = proven_functions()
    for path in sorted(PROOFS.glob("*.md")):
        if path.name == "README.md":
            continue
        text = path.read_text()
        for match in SIGNATURE.finditer(text):
            new = f"Code: `{match['name']}` · signed `{hashes[match['name']]}`"
            if new != match[0]:
                print(f"{path.name}: signed {match['name']}")
                text = text.replace(match[0], new)
        path.write_text(text)


def _functions(tree: ast.Module, module: str) -> list[tuple[str, Function]]:
    found: list[tuple[str, Function]] = []
    for node in tree.body:
        if isinstance(node, Function):
            found.append((f"{module}.{node.name}", node))
        elif isinstance(node, ast.ClassDef):
            found += [
                (f"{module}.{node.name}.{part.name}", part)
                for part in node.body
                if isinstance(part, Function)
            ]
    return found


def _hash(function: Function) -> str:
    """Hash of the code alone: a docstring or a comment may change freely."""
    bare = ast.parse(ast.unparse(function)).body[0]
    assert isinstance(bare, Function)
    if ast.get_docstring(bare) is not None:
        bare.body = bare.body[1:]
    return hashlib.sha256(ast.dump(bare).encode()).hexdigest()[:16]


if __name__ == "__main__":
    sign()
