# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A bare array, where a model reads columns by name, is refused with what to give."""

from typing import Any

import numpy as np
import pytest

import dpmcmc

RECORDS = np.linspace(1234.5, 1235.5, 20)


def regression(x: Any, y: Any = None) -> None:
    raise AssertionError("it is not run")


@pytest.mark.parametrize(
    ("model", "names"),
    [
        (dpmcmc.models.normal((-9.0, 11.0), sd=1.0), "{'x': array}"),
        (dpmcmc.Model(lambda theta, r: r["x"] * theta, abs, 0.0), "float32[scalar]"),
        (regression, '{"x": x, "y": y}'),
    ],
)
def test_a_bare_array_is_refused(model: Any, names: str) -> None:
    method = dpmcmc.Barker(clip=0.1, proposal=dpmcmc.RandomWalk(0.1))
    with pytest.raises(dpmcmc.InputError) as refusal:
        dpmcmc.sample(model, RECORDS, delta=1e-6, method=method, steps=1)
    assert names in str(refusal.value)
    assert "1234" not in str(refusal.value)
