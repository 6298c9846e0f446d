# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The directive ``guarantees``: all functions with a Guarantee block, and proofs."""

import importlib.util
from itertools import groupby
from pathlib import Path
from types import ModuleType

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

_PROOFS = Path(__file__).parents[1] / "proofs"


class Guarantees(SphinxDirective):
    """Every function with a Guarantee block, under its module, beside its proof."""

    def run(self) -> list[nodes.Node]:
        """Write the entries as text and have them read in place."""
        sign = _load_sign()
        proofs = {name: path.stem for name, (path, _) in sign.signatures().items()}
        lines: list[str] = []
        for module, names in groupby(sorted(proofs), key=_module_of):
            lines += [f".. rubric:: ``{module}``", ""]
            for name in names:
                kind = (
                    "method" if name.count(".") > module.count(".") + 1 else "function"
                )
                lines += [
                    f".. auto{kind}:: {name}",
                    "   :noindex:",
                    "",
                    f"   Proof: :doc:`/proofs/{proofs[name]}`.",
                    "",
                ]
        return self.parse_text_to_nodes("\n".join(lines))


def _load_sign() -> ModuleType:
    spec = importlib.util.spec_from_file_location("sign_proofs", _PROOFS / "sign.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _module_of(name: str) -> str:
    """Leave out the function, and the class if it is a method of one."""
    parts = name.split(".")[:-1]
    return ".".join(parts[:-1] if parts[-1][0].isupper() else parts)


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx."""
    app.add_directive("guarantees", Guarantees)
    return {"parallel_read_safe": True}
