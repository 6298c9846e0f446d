# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The traced programs of totals: records meet in one integer sum, and nowhere else."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from answers import LINEAR, POINT, SIZE, Gradient, InParts, Named
from programs import Source, trace_sources

from dpmcmc.private import histograms, sums
from dpmcmc.private.opening import Opened
from dpmcmc.private.totals import spread_over

COUNT = 1021  # a prime, so that no other axis has its length

TOTALS = {
    "sum": (sums.exact_sum, Gradient()),
    "sum of parts": (sums.exact_sum, InParts()),
    "counts": (histograms.exact_counts, Named()),
}


def sources_of_total(name, dtype="float64"):
    """Trace the exact total of one block and follow the records through it."""
    exact, question = TOTALS[name]
    exact.clear_cache()
    spread = spread_over(jax.devices()[:1])
    with jax.enable_x64(True):
        opened = Opened(np.zeros((COUNT, SIZE), dtype), np.ones(COUNT, bool))
        traced = exact.trace(LINEAR, question, dtype, spread, opened, POINT)
        program = traced.jaxpr
    sources, dtypes = [Source.RECORD, Source.RECORD, Source.PUBLIC], []
    found = trace_sources(program.jaxpr, sources, COUNT, dtypes)
    exact.clear_cache()
    return found, dtypes


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", TOTALS)
def test_records_meet_in_one_integer_sum_alone(name, dtype):
    """In the traced program of what is added before noise."""
    found, dtypes = sources_of_total(name, dtype)
    assert found == [Source.SUM]
    assert [str(kind) for kind in dtypes] == ["int64"]


def test_a_total_that_centres_records_is_found(monkeypatch):
    inner = sums.bounded_vectors

    def centred(parts, present, *_):
        free = parts.free - jnp.mean(parts.free, axis=0)
        return inner(parts._replace(free=free), present)

    monkeypatch.setattr(sums, "bounded_vectors", centred)
    with pytest.raises(AssertionError, match="summed as float"):
        sources_of_total("sum")


def test_a_total_that_divides_by_how_many_are_present_is_found(monkeypatch):
    inner = sums.bounded_vectors

    def scaled(parts, present, *_):
        return inner(parts, present) // jnp.sum(present, dtype=jnp.int64)

    monkeypatch.setattr(sums, "bounded_vectors", scaled)
    with pytest.raises(AssertionError, match="by their sum"):
        sources_of_total("sum")


def test_a_total_that_picks_records_is_found(monkeypatch):
    """Coordinates are picked by constants, for all records; records are not."""
    inner = sums.bounded_vectors

    def turned(parts, present, *_):
        order = np.random.default_rng(0).permutation(len(present))
        return inner(parts._replace(free=parts.free[order]), present)

    monkeypatch.setattr(sums, "bounded_vectors", turned)
    with pytest.raises(AssertionError, match="may mix records"):
        sources_of_total("sum")
