# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Every Guarantee has a proof, and every proof is a proof of the present code."""

import ast
import importlib.util
from pathlib import Path

import pytest

_PATH = Path(__file__).parents[1] / "docs" / "proofs" / "sign.py"
_SPEC = importlib.util.spec_from_file_location("sign_proofs", _PATH)
assert _SPEC is not None
assert _SPEC.loader is not None
sign = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(sign)

PROVEN = sign.proven_functions()
SIGNED = sign.signatures()


def test_the_boundary_has_guarantees() -> None:
    assert {name for name in PROVEN if name.startswith("dpmcmc.private.")} >= {
        "dpmcmc.private.decisions.barker",
        "dpmcmc.private.acceptance.Minibatch.batches",
        "dpmcmc.private.batches.draw_batches",
        "dpmcmc.private.chains.Chains.run",
        "dpmcmc.private.corrected.minibatch_barker",
        "dpmcmc.private.distributions.mixture_bernoulli",
        "dpmcmc.private.distributions.bernoulli",
        "dpmcmc.private.ratios.clip_to_grid",
        "dpmcmc.private.ratios.sum_of_steps",
        "dpmcmc.private.records.open_records",
        "dpmcmc.private.tape.Tape.words",
    }


@pytest.mark.parametrize("name", sorted(PROVEN))
def test_a_guarantee_has_a_proof_of_this_code(name: str) -> None:
    assert name in SIGNED, f"{name} has a Guarantee block but no proof in docs/proofs"
    path, signature = SIGNED[name]
    assert signature == PROVEN[name], (
        f"the code of {name} changed since its proof in {path.name} was signed: read "
        "the proof again, mend it, then run `make proofs`"
    )


def test_no_proof_is_of_a_function_that_is_gone() -> None:
    assert sorted(set(SIGNED) - set(PROVEN)) == []


def test_a_signature_covers_code_and_not_words() -> None:
    first = ast.parse("def f(x):\n    'Says one thing.'\n    return x + 1").body[0]
    second = ast.parse("def f(x):\n    'Says another.'\n    return x + 1").body[0]
    third = ast.parse("def f(x):\n    'Says one thing.'\n    return x + 2").body[0]
    assert sign._hash(first) == sign._hash(second) != sign._hash(third)
