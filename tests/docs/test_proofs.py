# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Every guarantee has a proof, and the proof is of the code as it is."""

import importlib.util
import sys
from pathlib import Path

import pytest

_PATH = Path(__file__).parents[2] / "docs" / "proofs" / "sign.py"
_SPEC = importlib.util.spec_from_file_location("sign_proofs", _PATH)
assert _SPEC is not None
assert _SPEC.loader is not None
sign = importlib.util.module_from_spec(_SPEC)
sys.modules["sign_proofs"] = sign
_SPEC.loader.exec_module(sign)

PACKAGE = sign.Package.read(sign.ROOT / "src")
PROVEN = PACKAGE.proven()
SIGNED = sign.signatures()

_MODULE = """
from dpmcmc.private.other import imported

LIMIT = 3

def proven(x):
    '''Do it.

    Guarantee
    ---------
    It is so.
    '''
    return helper(x) + imported(x)

def helper(x):
    return x + LIMIT

def unrelated(x):
    return x
"""


def signature(**changes: str) -> str:
    """The signature of a small package, with some words of its code exchanged."""
    package = sign.Package()
    texts = {"one": _MODULE, "other": "def imported(x):\n    return 2 * x\n"}
    for name, text in texts.items():
        changed = text
        for old, new in changes.items():
            changed = changed.replace(old, new)
        package.add(f"dpmcmc.private.{name}", changed)
    return str(package.signature("dpmcmc.private.one.proven"))


@pytest.mark.parametrize("name", sorted(PROVEN))
def test_a_guarantee_has_a_proof_of_this_code(name: str) -> None:
    assert name in SIGNED, f"{name} has a Guarantee block but no proof in docs/proofs"
    path, signed = SIGNED[name]
    assert signed == PROVEN[name], (
        f"the code of {name}, or of what it uses, changed since its proof in "
        f"{path.name} was signed: read the proof again, correct it, then `make proofs`"
    )


def test_no_proof_is_of_a_function_that_is_gone() -> None:
    assert sorted(set(SIGNED) - set(PROVEN)) == []


def test_the_boundary_has_guarantees() -> None:
    rooms = {".".join(name.split(".")[:3]) for name in PROVEN}
    expected = (
        "batches chains decisions distributions each_record exact_normal histograms "
        "moves opening ratios sums tape totals"
    )
    assert {f"dpmcmc.private.{name}" for name in expected.split()} <= rooms


def test_drawing_of_batches_is_covered_by_a_signature() -> None:
    used = set(PACKAGE._uses(PACKAGE.definitions["dpmcmc.private.batches._drawn"]))
    assert "dpmcmc.private.batches._draw_again" in used


@pytest.mark.parametrize(
    ("old", "new"),
    [("x + LIMIT", "x - LIMIT"), ("LIMIT = 3", "LIMIT = 4"), ("2 * x", "3 * x")],
    ids=["helper", "constant", "import"],
)
def test_a_signature_covers_what_a_function_uses(old: str, new: str) -> None:
    assert signature(**{old: new}) != signature()


@pytest.mark.parametrize(
    ("old", "new"),
    [("It is so.", "It is certainly so."), ("return x\n", "return -x\n")],
    ids=["words", "unrelated"],
)
def test_a_signature_covers_nothing_else(old: str, new: str) -> None:
    assert signature(**{old: new}) == signature()
