# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Rows of a design: what they span, their names, and coefficients on both scales."""

import jax
import numpy as np
import pytest
from scipy.interpolate import BSpline

import dpmcmc
from dpmcmc.models.formulas import regression_of
from dpmcmc.models.formulas.bounds_and_levels import Declared
from dpmcmc.models.formulas.rows import rows_of
from dpmcmc.models.formulas.terms import Parsed

DECLARED = Declared.of(
    {"x": (10, 50), "w": (1990, 2020), "y": (0, 8)},
    {"c": ["p", "q", "r"], "d": [0, 1], "g": list(range(5))},
)


def _rows(formula: str):
    parsed = Parsed.of(formula)
    return rows_of(parsed.terms, parsed.has_intercept, DECLARED)


@pytest.mark.parametrize(
    ("formula", "names"),
    [
        ("y ~ x + c", ["x", "c=q", "c=r"]),
        ("y ~ 0 + c", ["c=p", "c=q", "c=r"]),
        ("y ~ 0 + c + d", ["c=p", "c=q", "c=r", "d=1"]),
        ("y ~ C(d) * x", ["d=1", "x", "d=1:x"]),
        ("y ~ x:c", ["x:c=p", "x:c=q", "x:c=r"]),
        ("y ~ c:d", ["c=p:d=0", "c=p:d=1", "c=q:d=0", "c=q:d=1", "c=r:d=0", "c=r:d=1"]),
        ("y ~ poly(x, 2)", ["poly(x, 2)[1]", "poly(x, 2)[2]"]),
    ],
)
def test_columns_are_those_that_r_has(formula: str, names: list[str]) -> None:
    if formula == "y ~ c:d":  # an intercept and all cells depend on each other
        with pytest.raises(dpmcmc.InputError, match="determined"):
            _rows(formula)
        names = names[:]
        assert list(_rows("y ~ 0 + c:d").names) == names
        return
    assert list(_rows(formula).names) == names


@pytest.mark.parametrize("formula", ["y ~ x * w + c", "y ~ x:w", "y ~ 0 + x + w + x:c"])
def test_scaled_rows_are_linear_in_the_formula_s_own(formula: str) -> None:
    rows = _rows(formula)
    points = DECLARED.points(["x", "w", "c"])
    with jax.enable_x64(True):
        scaled = np.asarray(jax.vmap(rows.at)(points))
        plain = np.asarray(jax.vmap(rows.raw)(points))
    np.testing.assert_allclose(rows.constant + plain @ rows.matrix.T, scaled, atol=1e-6)
    assert np.abs(scaled).max() <= 2 + 1e-9


def test_a_product_is_of_centred_columns_where_that_spans_the_same() -> None:
    assert _rows("y ~ x * w").is_centred
    assert not _rows("y ~ x:w").is_centred


def test_splines_are_those_of_scipy_on_declared_bounds() -> None:
    rows = _rows("y ~ bs(x, df=6)")
    knots = np.concatenate([[10] * 3, np.linspace(10, 50, 5), [50] * 3])
    x = np.linspace(10, 50, 41)
    with jax.enable_x64(True):
        found = np.asarray(jax.vmap(lambda one: rows.raw({"x": one}))(x))
    truth = BSpline.design_matrix(x, knots, 3).toarray()[:, 1:]
    np.testing.assert_allclose(found, truth, atol=1e-12)


def test_nothing_is_taken_from_the_records() -> None:
    """Whatever other records are, a record's row is the same."""
    rows = _rows("y ~ scale(x) + center(w) + c")
    one = {"x": 20.0, "w": 2000.0, "c": np.array([0.0, 1.0, 0.0])}
    alone = np.asarray(rows.raw(one))
    assert alone[0] == pytest.approx((20 - 30) / 10)
    assert alone[1] == pytest.approx(2000 - 2005)


FORMULA = "y ~ x * w + c + (1 + x | g) + (1 | d)"


@pytest.fixture(scope="module")
def model() -> dpmcmc.Model:
    return dpmcmc.formula(
        FORMULA,
        bounds={"x": (10, 50), "w": (1990, 2020), "y": (0, 8)},
        levels={"c": ["p", "q", "r"], "d": [0, 1], "g": list(range(5))},
        priors={"x": 0.1},
    )


def test_what_is_shown_predicts_what_the_chain_runs_on(model: dpmcmc.Model) -> None:
    from dpmcmc.models.formulas import Predictor

    regression = regression_of(model.declared)
    with jax.enable_x64(True):
        theta = model.draw_prior(jax.random.key(3))
        shown = {
            name: np.asarray(one)[None] for name, one in regression.shown(theta).items()
        }
        table = {
            "x": [12, 44.0],
            "w": [1991, 2019],
            "c": ["q", "p"],
            "d": [1, 0],
            "g": [4, 0],
        }
        predictor = Predictor(model.declared, shown)
        rows = predictor.rows(table)
        each = [
            regression.predictor(
                theta, {name: col[i] for name, col in rows.columns.items()}
            )
            for i in range(2)
        ]
        found = predictor.expected(rows)[0]
    np.testing.assert_allclose(found, 4 + 2 * np.array(each), rtol=1e-9)
    effects = shown["1|g"][0]
    assert effects.shape == (5,)


def test_mean_effects_are_in_the_prior_alone(model: dpmcmc.Model) -> None:
    from dpmcmc.model.informed import informed_coordinates

    one = {name: jax.ShapeDtypeStruct((), np.float32) for name in "xwcdgy"}
    informed = informed_coordinates(model, one)
    names = [
        name
        for name, leaf in sorted(model.initial.items())
        for _ in range(np.size(leaf))
    ]
    blind = {name for name, is_read in zip(names, informed, strict=True) if not is_read}
    assert blind == {name for name in names if name.startswith(("mean ", "log_sd "))}


def test_the_prior_of_effects_is_that_of_independent_normals(
    model: dpmcmc.Model,
) -> None:
    """In shown effects and population coefficients, at two points, up to a constant.

    θ has mean effects in units of their sd, which changes densities by that sd.
    """
    from scipy.stats import norm

    regression = regression_of(model.declared)

    def stated(theta):
        population = regression.population(theta)
        scales = [0.1 * 10 / 2, 2.5, 2.5, 2.5, 2.5]
        total = norm.logpdf(population["coefficients"], 0, scales).sum()
        total += norm.logpdf(population["intercept"], 0, 2.5)
        total += norm.logpdf(theta["log_sd"], 0, 1)
        for one in regression.effects.terms:
            log_sd = theta[one.log_sd]
            total += norm.logpdf(log_sd, np.log(0.5), 1)
            total += norm.logpdf(one.whole(theta), 0, np.exp(log_sd)).sum()
            total += log_sd if one.place is not None else 0.0
        return float(total)

    with jax.enable_x64(True):
        points = [model.draw_prior(jax.random.key(seed)) for seed in range(3)]
        differences = [float(model.log_prior(one)) - stated(one) for one in points]
    # Sums of numbers up to a hundred: their rounding differs between processors.
    np.testing.assert_allclose(differences, differences[0], rtol=0, atol=1e-11)


@pytest.mark.parametrize(
    "records", [50, {"x": np.zeros(50), "y": np.zeros(50), "c": np.full(50, "p")}]
)
def test_records_are_simulated_by_what_is_declared(records: object) -> None:
    """For a rehearsal: covariates even within bounds, responses of the model."""
    from dpmcmc.rehearsal.rehearse import _simulated

    model = dpmcmc.formula(
        "y ~ x + c", bounds={"x": (10, 50), "y": (0, 8)}, levels={"c": ["p", "q"]}
    )
    plain, count, made, _ = _simulated(model, records, None, None, 0)
    assert count == 50
    assert made["c"].shape == (50, 2)
    assert made["x"].min() >= 10
    assert plain.declared is None
    each = jax.vmap(plain.log_likelihood, (None, 0))(plain.initial, made)
    assert np.all(np.isfinite(each))
