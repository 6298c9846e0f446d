# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Every mistake in a formula is named before anything is read."""

import logging

import numpy as np
import pandas as pd
import pytest

import dpmcmc
from dpmcmc import InputError
from dpmcmc.models.formulas.terms import Group, Name, Parsed

BOUNDS = {"age": (0, 110), "income": (1, 500), "visits": (0, 20), "days": (1, 100)}
LEVELS = {
    "region": ["north", "south", "west"],
    "clinic": [1, 2, 7],
    "ill": ["no", "yes"],
}


@pytest.mark.parametrize(
    ("formula", "family", "named"),
    [
        ("age + income", "gaussian", "~"),
        ("~ age", "gaussian", "parsed"),
        ("income ~ age +", "gaussian", "parsed"),
        ("income ~ 1 / age", "gaussian", "an operator"),
        ("income ~ age + (1 | region | ill)", "gaussian", "an operator"),
        ("y ~ age ~ income", "gaussian", "more than one '~'"),
        ("weight ~ age", "gaussian", "bounds of 'weight'"),
        ("ill ~ age", "gaussian", "'ill' has levels"),
        ("income ~ sqrt(age - 50)", "gaussian", "not finite"),
        ("income ~ I(age > 200)", "gaussian", "I\\(age > 200\\)"),
        ("income ~ poly(age, 0)", "gaussian", "at least 1"),
        ("income ~ bs(region, df=4)", "gaussian", "'region'"),
        ("income ~ age ** 2", "gaussian", "I\\(age\\*\\*2\\)"),
        ("income ~ 0", "gaussian", "no term"),
        ("income ~ agee", "gaussian", "'age' meant by 'agee'"),
        ("income ~ height + weight", "gaussian", "'height', 'weight'"),
        ("income ~ C(age)", "gaussian", "levels of 'age'"),
        ("income ~ (1 | doctor)", "gaussian", "levels of 'doctor'"),
        ("income ~ log(region)", "gaussian", "'region' has levels"),
        ("income ~ C(region, Treatment('south'))", "gaussian", "C\\(region\\)"),
        ("income ~ log(age)", "gaussian", "log\\(age\\)"),
        ("income ~ age + I(2 * age)", "gaussian", "I\\(2 \\* age\\)"),
        ("income ~ age + bs(age, df=4)", "gaussian", "bs\\(age, df=4\\)\\[4\\]"),
        ("income ~ bs(age, df=2)", "gaussian", "degree, 3"),
        ("income ~ bs(age, knots=4)", "gaussian", "bs\\(age, knots=4\\)"),
        ("income ~ scale(log(income))", "gaussian", "both sides"),
        ("income ~ center(age, visits)", "gaussian", "one column"),
        ("income ~ spline(age)", "gaussian", "'spline'"),
        ("income ~ age + income", "gaussian", "'income' by itself"),
        ("income ~ (region | clinic)", "gaussian", "of a number"),
        ("income ~ (age:visits | clinic)", "gaussian", "of one column"),
        ("income ~ offset(a, b)", "gaussian", "one argument"),
        ("log(income) ~ age", "gaussian", "response is log"),
        ("income ~ age", "normalish", "family"),
        ("region ~ age", "bernoulli", "'region' has the levels"),
        ("ill['yes'] ~ age", "bernoulli", "levels"),
        ("income ~ age", "bernoulli", "bounds \\(1"),
        ("ill ~ age", "ordinal", "three and more"),
        ("ill ~ age", "poisson", "has levels"),
        ("visits ~ age", "gamma", "above 0"),
        ("visits ~ age", "binomial", "p\\(cured, patients\\)"),
        ("p(visits, 10) ~ age", "binomial", "p\\(cured, patients\\)"),
        ("censored(days, ill) ~ age", "poisson", "name of a column"),
    ],
)
def test_a_mistake_is_named(formula: str, family: str, named: str) -> None:
    with pytest.raises(InputError, match=named):
        dpmcmc.formula(formula, family=family, bounds=BOUNDS, levels=LEVELS)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"bounds": [("age", (0, 1))]}, "bounds is a list"),
        ({"bounds": {"age": (3, 1)}}, "bounds\\['age'\\]"),
        ({"bounds": {**BOUNDS, "region": (0, 1)}}, "'region'"),
        (
            {"bounds": {"income": (-5, 5), "age": (0, 1)}, "family": "poisson"},
            "at least",
        ),
        ({"levels": {"region": "north"}}, "'region'"),
        ({"levels": {"region": ["north", 2]}}, "'region'"),
        ({"levels": {"region": ["north", "north"]}}, "'region'"),
        ({"priors": {"weight": 1.0}}, "'weight'"),
        ({"priors": {"age": -1.0}}, "'age'"),
        ({"prior_scale": 0.0}, "prior_scale"),
        ({"group_scale": "wide"}, "group_scale"),
        ({"bounds": None}, "bounds is a NoneType"),
        ({"bounds": {"age": 110, "income": (0, 1)}}, "bounds\\['age'\\] is 110"),
        ({"bounds": {"age": (0, np.inf), "income": (0, 1)}}, "finite"),
        ({"levels": {"region": ["north"]}}, "at least two"),
        ({"units": {"weight": "kg"}}, "'weight'"),
        ({"units": {"age": 3}}, "units\\['age'\\] is 3"),
        ({"family": None}, "family is None"),
    ],
)
def test_what_is_declared_is_checked(given: dict, named: str) -> None:
    with pytest.raises(InputError, match=named):
        dpmcmc.formula("income ~ age", **{"bounds": BOUNDS, "levels": LEVELS, **given})


def test_a_name_is_not_said_to_mean_itself() -> None:
    with pytest.raises(InputError) as refused:
        dpmcmc.formula("income ~ (1 | age)", bounds=BOUNDS, levels=LEVELS)
    assert "meant" not in str(refused.value)


def test_a_formula_is_text() -> None:
    with pytest.raises(InputError, match="the formula is 3"):
        dpmcmc.formula(3)  # type: ignore[arg-type]


def test_a_column_that_the_table_lacks_is_named_before_values_are_read() -> None:
    model = dpmcmc.formula("income ~ age", bounds=BOUNDS)
    table = pd.DataFrame({"aeg": [1.0], "income": [2.0]})
    with pytest.raises(InputError, match="'aeg' meant"):
        dpmcmc.sample(model, table, epsilon=1, delta=1e-6)


def test_a_column_of_text_needs_levels_by_its_type() -> None:
    model = dpmcmc.formula("income ~ age", bounds=BOUNDS)
    table = pd.DataFrame({"age": ["young"], "income": [2.0]})
    with pytest.raises(InputError, match="'age'"):
        dpmcmc.sample(model, table, epsilon=1, delta=1e-6)


def test_a_formula_is_taken_apart() -> None:
    found = Parsed.of("y ~ 0 + a * b + offset(log(e)) + (1 + a | g:h)")
    assert not found.has_intercept
    assert found.terms == ((Name("a"),), (Name("b"),), (Name("a"), Name("b")))
    assert len(found.offsets) == 1
    assert found.groups == (Group(None, ("g", "h")), Group(Name("a"), ("g", "h")))


def test_other_loggers_of_the_parser_are_left_as_they_were() -> None:
    before = list(logging.getLogger("formulae").filters)
    with pytest.raises(InputError):
        Parsed.of("y ~ x ** 2")
    assert logging.getLogger("formulae").filters == before


def test_what_a_coded_table_reads_depends_on_each_record_alone() -> None:
    from dpmcmc.models.formulas import coded_table

    model = dpmcmc.formula("income ~ C(region)", bounds=BOUNDS, levels=LEVELS)
    texts = ["south", None, "west", "moon", 3]
    table = pd.DataFrame({"region": texts, "income": [1.0, 2, 3, 4, np.nan]})
    coded = coded_table(model.declared, table)
    assert {name: one.kind for name, one in coded.dtypes.items()} == {
        "income": "f",
        "region": "i",
    }
    values, present = coded.read_values()
    np.testing.assert_array_equal(values["region"], [1, 0, 2, 0, 0])
    np.testing.assert_array_equal(present, [True, False, True, False, False])


def test_a_missing_value_changes_no_error() -> None:
    """In pandas it turns booleans into objects; a list has the type of its values."""
    from dpmcmc.models.formulas import coded_table

    model = dpmcmc.formula("income ~ age", bounds=BOUNDS)
    for ages in ([True, False], [True, None]):
        table = pd.DataFrame({"age": ages, "income": [1.0, 2.0]})
        with pytest.raises(InputError, match="'boolean'"):
            coded_table(model.declared, table)
        coded_table(model.declared, table.astype({"age": "boolean"}))
        with pytest.raises(InputError, match="no type"):
            coded_table(model.declared, {"age": ages, "income": np.ones(2)})
