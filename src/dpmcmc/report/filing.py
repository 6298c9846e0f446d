# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A statement as others file it: what NIST SP 800-226 and a public registry ask.

NIST's guidelines ask of a claim of differential privacy what its unit, its parameters,
its trust model and its composition are, and what is not protected. The registry of
deployments asks the same, and who released what for which purpose. What the statement
does not know is left empty, for a person to fill in.
"""

import json
from typing import Any

from dpmcmc.posterior import Statement

__all__ = ["filing"]

_NOT_PROTECTED = (
    "the model, the method, public bounds and every setting",
    "what is true of the population, and so of people who are not in the data",
    "groups: the guarantee weakens with each further one of them",
    "other releases from the same data, unless a ledger adds them up",
    "choices that were made by looking at the data",
    "whoever can watch the computation: its memory and its timing are trusted",
)


def filing(statement: Statement, **about: str) -> dict[str, Any]:
    """What a statement says, by the questions that are asked of a deployment.

    Parameters
    ----------
    statement
        The statement of a result.
    about
        What it does not know, such as ``name``, ``data_curator``, ``intended_use``,
        ``region`` and ``contact``.

    Returns
    -------
    dict
        Values that JSON and YAML can hold. ε is None where nothing is private.
    """
    said = json.loads(statement.to_json())
    unit = "one record (a row of the table)"
    if statement.unit is not None:
        unit = f"all records with one value of {statement.unit}"
    return {
        "deployment": {
            "name": "",
            "data_curator": "",
            "intended_use": "",
            "region": "",
            "contact": "",
            "data_product": "posterior draws of a Bayesian model",
            **about,
        },
        "privacy_loss": {
            "is_private": statement.is_private,
            "definition": "approximate differential privacy",
            "epsilon": said["epsilon"] if statement.is_private else None,
            "delta": statement.delta if statement.is_private else None,
            "rho_zcdp": statement.rho,
            "mu_gdp": statement.mu,
            "profile": [
                {"epsilon": epsilon, "delta": delta}
                for epsilon, delta in statement.profile
            ],
            "not_private_because": list(statement.not_private_because),
        },
        "privacy_unit": {
            "unit": unit,
            "number_of_units": statement.records,
            "records_of_a_unit_that_count": statement.most,
            "adjacency": statement.adjacency,
            "unprotected_quantities": []
            if statement.hides_number
            else [f"the number of {statement.one}s"],
        },
        "trust_model": {
            "model": "central: a curator holds the records and runs the computation",
            "trusted": ["the curator", "the machine that computes", "its randomness"],
            "untrusted": ["everyone who sees what was released"],
            "interaction": "one release, chosen before a record is read",
        },
        "composition": {
            "accountant": statement.accountant,
            "scope": "all that this run released; other runs add to it",
            "releases": [
                {"stage": one.name, "what": one.sentence, "fraction": one.fraction}
                for one in statement.stages
            ],
        },
        "implementation": {
            "software": f"dpmcmc {statement.version}".strip(),
            "randomness": "ChaCha20, keyed by the operating system",
            "finite_arithmetic": "integer sums; rounding is included in delta",
            "preprocessing": list(statement.prepared),
            "tempered_to": statement.tempered,
            "choices": "made without looking at the records, as the claim presumes",
        },
        "not_protected": list(_NOT_PROTECTED),
        "accuracy": None if statement.verdict is None else str(statement.verdict),
        "notes": list(statement.notes),
    }
