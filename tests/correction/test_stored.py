# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Stored fits are what the linear programme gives; any other C is fitted."""

import json

import pytest

from dpmcmc.correction import Correction, correction_for, linear_programme
from dpmcmc.correction.stored import stored_fits
from reproduction.store_corrections import COMMON, write_fits


@pytest.mark.parametrize("variance", COMMON)
def test_a_stored_fit_is_what_a_fresh_one_gives(variance):
    stored = stored_fits()[variance]
    fresh = linear_programme(variance).sup_error()
    # Below 1e-10 the tails that a programme leaves out decide, and solvers differ.
    assert stored.sup_error() == pytest.approx(fresh, rel=0.01, abs=1e-10)


def test_a_common_variance_is_looked_up_and_another_fitted():
    assert correction_for(2.0) is stored_fits()[2.0]
    assert correction_for(2) is correction_for(2.0)
    assert correction_for(2.1).variance == 2.1


def test_what_is_written_is_read_back_exactly(tmp_path):
    write_fits(tmp_path / "fits.json", (1.9, 2.3))
    text = (tmp_path / "fits.json").read_text(encoding="utf-8")
    read = [
        Correction(**{name: _tuple(value) for name, value in each.items()})
        for each in json.loads(text)
    ]
    assert read == [linear_programme(c) for c in (1.9, 2.3)]


def _tuple(value):
    return tuple(value) if isinstance(value, list) else value
