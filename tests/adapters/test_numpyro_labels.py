# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Labels of NumPyro models: given with the adapter, or to the posterior."""

from dataclasses import replace

import numpy as np
import numpyro
from adapting import adapt
from numpyro import distributions as dist
from refusals import assert_refused

import dpmcmc
from dpmcmc import Model, Posterior

REGIONS = ("north", "south")
RECORDS = {"x": np.zeros(30, np.float32), "y": np.ones(30, np.float32)}


def by_region(x, y):
    with numpyro.plate("regions", 2):
        effect = numpyro.sample("effect", dist.HalfNormal(1))
    numpyro.deterministic("twice", 2 * effect)
    with numpyro.plate("records", y.shape[0]):
        numpyro.sample("y", dist.Normal(effect[0], 1), obs=y)


def run(model) -> Posterior:
    walk = dpmcmc.RandomWalk(0.1)
    return dpmcmc.sample_not_private(
        model, RECORDS, steps=8, proposal=walk, seed=1, progress=False
    )


def test_sites_are_labelled_as_they_are_shown() -> None:
    model = adapt(by_region, labels={"effect": REGIONS, "twice": REGIONS})
    assert isinstance(model, Model)
    found = run(model)
    assert sorted(found.summary().index) == [
        f"{site}[{region}]" for site in ("effect", "twice") for region in REGIONS
    ]


def test_labels_of_no_site_are_refused() -> None:
    assert_refused(
        lambda: run(adapt(by_region, labels={"effects": REGIONS})),
        "labels names 'effects', which is no parameter that draws show",
    )


def test_a_model_as_it_is_has_none_and_its_posterior_can_be_given_some() -> None:
    found = run(by_region)
    assert found.labels == {}
    named = replace(found, labels={"effect": REGIONS})
    assert "effect[south]" in str(named)
