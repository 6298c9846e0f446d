# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What others ask of a statement, as JSON and as YAML."""

import json
import math
from dataclasses import replace

import yaml
from posteriors import STATEMENT

from dpmcmc.report import filing


def test_what_nist_and_a_registry_ask_is_answered() -> None:
    statement = replace(
        STATEMENT, unit="person", most=5, rho=0.1, profile=((1.0, 1e-6),)
    )
    found = filing(statement, name="Visits", data_curator="the registry")
    assert found["deployment"]["name"] == "Visits"
    assert found["deployment"]["contact"] == ""
    loss, unit = found["privacy_loss"], found["privacy_unit"]
    assert (loss["epsilon"], loss["delta"]) == (statement.epsilon, statement.delta)
    assert loss["rho_zcdp"] == 0.1
    assert loss["profile"] == [{"epsilon": 1.0, "delta": 1e-6}]
    assert unit["unit"] == "all records with one value of person"
    assert unit["number_of_units"] == statement.records
    assert unit["adjacency"].startswith("substitution of one unit")
    assert found["trust_model"]["model"].startswith("central")
    assert len(found["composition"]["releases"]) == len(statement.stages)
    assert found["not_protected"]


def test_json_and_yaml_hold_the_same() -> None:
    found = filing(STATEMENT, name='a "name": with marks\nand lines – ε')
    assert json.loads(json.dumps(found)) == found
    assert yaml.safe_load(yaml.safe_dump(found)) == found


def test_a_result_without_privacy_has_no_epsilon() -> None:
    open_ = replace(STATEMENT, epsilon=math.inf, not_private_because=("a seed",))
    loss = filing(open_)["privacy_loss"]
    assert not loss["is_private"]
    assert loss["epsilon"] is None
    assert loss["not_private_because"] == ["a seed"]
