# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Sign proofs: write a hash of what each proves beside it, or say what has changed.

A signature covers a function with a Guarantee block and all that it calls or reads
inside the guaranteed rooms: helpers, classes and constants, as far as the next function
that has a Guarantee block, and so a signature, of its own.
"""

import ast
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROOFS = Path(__file__).parent
SIGNATURE = re.compile(r"^Code: `(?P<name>[\w.]+)` · signed `(?P<hash>\w+)`$", re.M)

GUARANTEED = ("dpmcmc.private", "dpmcmc.accounting", "dpmcmc.ledger", "dpmcmc.sampling")
"""Rooms into which a signature follows what a function uses."""

GUARANTEED_FILES = ("dpmcmc.arithmetic", "dpmcmc.processes")

UNTRUSTED = "dpmcmc.sampling.fit."
"""What the fit asks, and what it makes of answers: the boundary bounds the first, and
the second is public. Only its stage, which pays and asks, is followed into."""

STAGE = "dpmcmc.sampling.fit.stage."

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Definition:
    """A function, method, class or constant of the package.

    Attributes
    ----------
    node
        Its code.
    module
        The module that it is in.
    is_proven
        Whether it has a Guarantee block.
    """

    node: ast.AST
    module: str
    is_proven: bool = False


@dataclass
class Package:
    """All definitions of the package by their full names, and what modules import."""

    definitions: dict[str, Definition] = field(default_factory=dict)
    imports: dict[str, dict[str, str]] = field(default_factory=dict)

    @classmethod
    def read(cls, source: Path) -> "Package":
        """Read the package below a folder of source."""
        package = cls()
        for path in sorted((source / "dpmcmc").rglob("*.py")):
            module = ".".join(path.relative_to(source).with_suffix("").parts)
            package.add(module.removesuffix(".__init__"), path.read_text())
        return package

    def add(self, module: str, text: str) -> None:
        """Add the definitions of a module."""
        names = self.imports[module] = {}
        for node in ast.parse(text).body:
            if isinstance(node, Function | ast.ClassDef):
                self._define(f"{module}.{node.name}", node, module)
                for part in node.body if isinstance(node, ast.ClassDef) else ():
                    if isinstance(part, Function):
                        self._define(f"{module}.{node.name}.{part.name}", part, module)
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                targets = (
                    node.targets if isinstance(node, ast.Assign) else [node.target]
                )
                for target in targets:
                    if isinstance(target, ast.Name):
                        self._define(f"{module}.{target.id}", node, module)
            elif isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    names[alias.asname or alias.name] = f"{node.module}.{alias.name}"

    def proven(self) -> dict[str, str]:
        """Name and hash of every function with a Guarantee block."""
        return {
            name: self.signature(name)
            for name, definition in self.definitions.items()
            if definition.is_proven
        }

    def signature(self, name: str) -> str:
        """Hash of a function and all that it uses, up to what is signed itself."""
        covered, waiting = {name: self.definitions[name]}, [name]
        while waiting:
            for used in self._uses(covered[waiting.pop()]):
                if used in covered or not _is_guaranteed(used):
                    continue
                definition = self.definitions[used]
                covered[used] = definition
                if not definition.is_proven:
                    waiting.append(used)
        parts = [
            f"{one} {'' if it.is_proven and one != name else _code(it.node)}"
            for one, it in sorted(covered.items())
        ]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]

    def _define(self, name: str, node: ast.AST, module: str) -> None:
        is_proven = isinstance(node, Function) and "Guarantee\n" in (
            ast.get_docstring(node) or ""
        )
        self.definitions[name] = Definition(node, module, is_proven)

    def _uses(self, definition: Definition) -> Iterator[str]:
        """Full names of the definitions that one refers to."""
        for node in ast.walk(definition.node):
            if isinstance(node, ast.Name):
                yield from self._resolved(definition.module, node.id)
            elif isinstance(node, ast.Attribute):
                # A method of any class of the same module: self._step, Grid.unclipped.
                owners = (
                    name
                    for name in self.definitions
                    if name.startswith(definition.module + ".")
                    and name.count(".") == definition.module.count(".") + 2
                )
                yield from (name for name in owners if name.endswith(f".{node.attr}"))

    def _resolved(self, module: str, name: str) -> Iterator[str]:
        own = f"{module}.{name}"
        imported = self.imports[module].get(name, "")
        for full in (own, imported):
            if full in self.definitions:
                yield full


def signatures() -> dict[str, tuple[Path, str]]:
    """Name of every function that a proof names, with the file and its hash."""
    found: dict[str, tuple[Path, str]] = {}
    for path in sorted(PROOFS.glob("*.md")):
        if path.name == "README.md":
            continue
        for match in SIGNATURE.finditer(path.read_text()):
            if match["name"] in found:
                raise ValueError(f"{match['name']} is proven twice")
            found[match["name"]] = (path, match["hash"])
    return found


def sign() -> None:
    """Write the present hash of each proven function into its proof."""
    hashes = Package.read(ROOT / "src").proven()
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


def _is_guaranteed(name: str) -> bool:
    if name.startswith(UNTRUSTED) and not name.startswith(STAGE):
        return False
    return name.startswith(tuple(f"{room}." for room in GUARANTEED)) or any(
        name.startswith(f"{file}.") for file in GUARANTEED_FILES
    )


def _code(node: ast.AST) -> str:
    """The code alone: docstrings and comments may change freely."""
    bare = ast.parse(ast.unparse(node))
    for part in ast.walk(bare):
        if isinstance(part, Function | ast.ClassDef) and ast.get_docstring(part):
            part.body = part.body[1:] or [ast.Pass()]
    return ast.dump(bare)


if __name__ == "__main__":
    sign()
