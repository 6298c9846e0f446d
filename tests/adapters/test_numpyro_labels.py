# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Names of places of NumPyro models: of the adapter, or of the posterior."""

from dataclasses import replace

import numpy as np
import numpyro
import pytest
from adapting import adapt
from numpyro import distributions as dist
from runs import seeded

from dpmcmc import InputError, Model, Posterior

REGIONS = ("north", "south")
RECORDS = {"x": np.zeros(30, np.float32), "y": np.ones(30, np.float32)}


def by_region(x, y):
    with numpyro.plate("regions", 2):
        effect = numpyro.sample("effect", dist.HalfNormal(1))
    numpyro.deterministic("twice", 2 * effect)
    with numpyro.plate("records", y.shape[0]):
        numpyro.sample("y", dist.Normal(effect[0], 1), obs=y)


def run(model) -> Posterior:
    return seeded(model, RECORDS, steps=8)


NAMED = {"coords": {"region": REGIONS}, "dims": {"effect": ["region"]}}


def test_sites_are_named_as_they_are_shown() -> None:
    both = {"effect": ["region"], "twice": ["region"]}
    model = adapt(by_region, coords=NAMED["coords"], dims=both)
    assert isinstance(model, Model)
    assert sorted(run(model).summary().index) == [
        f"{site}[{region}]" for site in ("effect", "twice") for region in REGIONS
    ]


def test_dims_of_no_site_are_refused() -> None:
    wrong = adapt(by_region, coords=NAMED["coords"], dims={"effects": ["region"]})
    with pytest.raises(InputError, match="'effects'"):
        run(wrong)


def test_a_model_as_it_is_has_none_and_its_posterior_can_be_given_some() -> None:
    found = run(by_region)
    assert found.coords == found.dims == {}
    assert "effect[south]" in str(replace(found, **NAMED))
