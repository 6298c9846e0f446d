# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Stored fits are what the methods make, and keep the paper's order."""

import json
import subprocess
import sys

import pytest

from dpmcmc.correction import correction_for, linear_programme, ridge
from dpmcmc.correction.make_cache import COMMON, write_fits
from dpmcmc.correction.stored import from_json, stored_fits
from dpmcmc.errors import InputError


@pytest.mark.parametrize("variance", COMMON)
def test_a_stored_programme_is_what_a_fresh_one_gives(variance):
    stored = stored_fits("linear_programme")[variance]
    fresh = linear_programme(variance).sup_error()
    # Below 1e-10 the tails that a programme leaves out decide, and solvers differ.
    assert stored.sup_error() == pytest.approx(fresh, rel=0.01, abs=1e-10)


@pytest.mark.parametrize("variance", [1.25, 1.5, 1.75, 2.0, 2.25, 2.5])
def test_ridge_is_bad_beyond_one_the_mixture_better_the_programme_best(variance):
    programme, mixture = (
        correction_for(variance, method).sup_error()
        for method in ("linear_programme", "gaussian_mixture")
    )
    assert programme < mixture < 0.1 * ridge(variance).sup_error()


@pytest.mark.parametrize("variance", COMMON)
def test_no_stored_mixture_beats_the_programme(variance):
    mixture = stored_fits("gaussian_mixture")[variance].sup_error()
    assert stored_fits("linear_programme")[variance].sup_error() <= mixture


def test_ridge_does_well_up_to_one_and_badly_at_two():
    assert ridge(0.5).sup_error() < ridge(1.0).sup_error() < 1e-3
    assert ridge(2.0).sup_error() > 3e-2


def test_a_common_variance_is_looked_up_and_another_fitted():
    assert correction_for(2.0) is stored_fits("linear_programme")[2.0]
    assert correction_for(2) is correction_for(2.0)
    assert correction_for(2.1).variance == 2.1
    assert correction_for(1.0, "ridge").method == "ridge"


def test_what_is_written_is_read_back_exactly(tmp_path):
    write_fits(tmp_path, "linear_programme", linear_programme, (1.9, 2.3))
    text = json.loads((tmp_path / "linear_programme.json").read_text(encoding="utf-8"))
    assert from_json(text) == {c: linear_programme(c) for c in (1.9, 2.3)}


def test_an_unknown_method_is_refused():
    with pytest.raises(InputError, match=r"'lasso'.*linear_programme"):
        correction_for(2.0, "lasso")


def test_looking_one_up_imports_no_jax():
    code = (
        "import sys; from dpmcmc.correction import correction_for; "
        "correction_for(2.0, 'gaussian_mixture'); "
        "sys.exit('jax' in sys.modules or 'optax' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
