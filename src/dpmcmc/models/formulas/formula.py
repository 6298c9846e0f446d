# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Formulas: a regression from one line, with everything that a private run needs."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dpmcmc.errors import InputError, require_positive
from dpmcmc.model.model import Model
from dpmcmc.model.preparation import Clamp, OneHot, Preparation, Step
from dpmcmc.model.responses import Moments
from dpmcmc.model.schema import Schema, as_schema
from dpmcmc.models.formulas.bounds_and_levels import Declared
from dpmcmc.models.formulas.coding import CodedTable
from dpmcmc.models.formulas.families import FAMILIES, Family
from dpmcmc.models.formulas.linear_model import Regression
from dpmcmc.models.formulas.terms import Call, Parsed, columns_in
from dpmcmc.models.settings import Range

__all__ = [
    "coded_table",
    "columns_of",
    "formula",
    "regression_of",
    "steps_of",
]

_OTHER_NAMES = {
    "normal": "gaussian",
    "t": "student-t",
    "negativebinomial": "negative-binomial",
    "cumulative": "ordinal",
    "multinomial": "categorical",
}
"""What families are called elsewhere; underscores and hyphens are one."""


def formula(
    formula: str,
    *,
    family: str = "gaussian",
    schema: Schema | None = None,
    bounds: Mapping[str, Range] = {},
    levels: Mapping[str, Sequence[Any]] = {},
    units: Mapping[str, str] = {},
    priors: Mapping[str, float] = {},
    prior_scale: float = 2.5,
    group_scale: float = 0.5,
) -> Model:
    """A regression, written as R, Bambi and others have it.

    Every number that is taken from a table elsewhere (the centre and the scale of a
    column, the levels of a factor, the knots of a spline) is taken from what is
    declared, so that nothing is learnt of the records but what is paid for.

    Parameters
    ----------
    formula
        Such as ``"ill ~ age * income + C(region) + bs(bmi, df=5) + (1 | clinic)"``.
        Terms are columns, ``C(…)`` for codes, arithmetic in ``I(…)`` or ``{…}``,
        ``log``, ``exp``, ``sqrt`` and the like, ``center`` and ``scale`` by declared
        bounds, ``bs`` and ``poly``, their products by ``:`` and ``*``, ``offset(…)``,
        and intercepts and slopes that vary over groups. The response is a column,
        ``p(cured, patients)`` for binomial, or ``censored(days, died)`` for weibull.
    family
        gaussian, student-t, bernoulli, binomial, poisson, negative-binomial, ordinal,
        categorical, gamma or weibull. Exposure is ``offset(log(years))``.
    schema
        What is known of the table, as in `Records`, in place of the next three; where
        both say something of a column, these do. Integers with bounds that the formula
        takes as levels have all integers between.
    bounds
        For each column of numbers, public bounds to which it is clamped.
    levels
        For each other column, and for groups, the values that it may have: texts, or
        whole numbers. Coefficients compare with the first. A record with another value
        counts for nothing.
    units
        Units of measurement of columns, such as ``{"age": "years"}``, for reports.
    priors
        Standard deviations of the normal priors of coefficients, by their names, for
        one unit of the column.
    prior_scale
        The sd of the prior of other coefficients, for a quarter of the width of the
        bounds of the column (about one sd of it), or for a level; on the scale of the
        link, or in quarters of the response's range.
    group_scale
        The median of the prior of the sd between groups, in the same units.

    Returns
    -------
    Model
        With preparation, prior, simulator and names. `Posterior.draws` have
        ``Intercept`` and ``coefficients`` for columns as the formula has them, the
        family's other parameters, and effects of groups such as ``1|clinic`` with
        ``1|clinic_sd``.

    Raises
    ------
    InputError
        If the formula cannot be parsed, bounds or levels are missing, or those of the
        response do not fit the family. No record is needed to see it.

    Examples
    --------
    >>> model = formula(
    ...     "ill ~ age + C(region)", family="bernoulli",
    ...     bounds={"age": (0, 110)}, levels={"region": ["north", "south"]},
    ... )
    >>> model.coords["predictor"]
    ('age', 'region=south')
    """
    known = _of_schema(formula, as_schema(schema))
    bounds = {**known["bounds"], **dict(_items("bounds", bounds))}
    levels = {**known["levels"], **dict(_items("levels", levels))}
    units = {**known["units"], **dict(_items("units", units))}
    declared = {
        "formula": formula,
        "family": family,
        "bounds": {name: _pair(pair) for name, pair in _items("bounds", bounds)},
        "levels": {name: _plain(values) for name, values in _items("levels", levels)},
        "units": {
            name: _unit(name, unit, [*bounds, *levels])
            for name, unit in _items("units", units)
        },
        "priors": dict(_items("priors", priors)),
        "prior_scale": prior_scale,
        "group_scale": group_scale,
    }
    regression = regression_of(declared)
    response, kind = regression.response, regression.family.kind

    def moments(theta: Any, record: Any) -> Any:
        assert regression.family.moments is not None
        return regression.family.moments(regression.given(theta, record))

    def limits(theta: Any, record: Any) -> Any:
        return 0.0, regression.given(theta, record).beside

    responses: dict[str, Any] = {response.name: None}
    if kind == "yes-no":
        responses = {response.name: (0.0, 1.0)}
    elif response.codes:
        responses = {response.name: tuple(map(float, response.codes))}
    elif kind == "positive" and response.beside is not None:
        own = Moments(moments, ended=response.beside)
        responses = {response.name: own, response.beside: None}
    elif regression.family.moments is not None:
        own = Moments(
            moments,
            is_count=kind in ("count", "trials"),
            limits=limits if kind == "trials" else None,
        )
        responses = {response.name: own}
    return Model(
        regression.log_likelihood,
        regression.log_prior,
        regression.initial,
        transform=regression.shown,
        draw_prior=regression.draw_prior,
        simulate=regression.simulate,
        preparation=Preparation(steps_of(regression)),
        responses=responses,
        **regression.names(),
        declared=declared,
    )


def _of_schema(text: str, schema: Schema) -> dict[str, dict[str, Any]]:
    """Bounds, levels and units of measurement of the columns that are read."""
    if not schema.columns:
        return {"bounds": {}, "levels": {}, "units": {}}
    of_levels = _of_levels(Parsed.of(text))
    bounds: dict[str, Range] = {}
    levels: dict[str, Sequence[Any]] = {}
    for name, one in schema.columns.items():
        if one.levels is not None:
            levels[name] = one.levels
        elif one.type == "boolean":
            bounds[name] = (0.0, 1.0)
        elif one.bounds is not None and name in of_levels:
            levels[name] = range(int(one.bounds[0]), int(one.bounds[1]) + 1)
        elif one.bounds is not None:
            bounds[name] = one.bounds
    units = {
        name: one.measured_in
        for name, one in schema.columns.items()
        if one.measured_in and (name in bounds or name in levels)
    }
    return {"bounds": bounds, "levels": levels, "units": units}


def regression_of(declared: Mapping[str, Any]) -> Regression:
    """What a declaration of `formula` stands for, as `Model.declared` keeps it."""
    known = Declared.of(declared["bounds"], declared["levels"])
    for name in ("prior_scale", "group_scale"):
        require_positive(name, declared[name], "Give a standard deviation.")
    parsed = Parsed.of(declared["formula"])
    family = _family(declared["family"])
    if again := set(columns_in(parsed.response)) & set(_covariates(parsed)):
        raise InputError(
            f"the formula explains {min(again)!r} by itself: it stands on both sides. "
            "Leave it out on the right."
        )
    _require_declared(parsed, known)
    return Regression.of(
        parsed,
        family,
        known,
        priors=declared["priors"],
        prior_scale=declared["prior_scale"],
        group_scale=declared["group_scale"],
    )


def columns_of(declared: Mapping[str, Any]) -> tuple[str, ...]:
    """The columns that a declared formula reads, the response first."""
    parsed = Parsed.of(declared["formula"])
    return (*columns_in(parsed.response), *_covariates(parsed))


def coded_table(declared: Mapping[str, Any], table: Any) -> CodedTable:
    """The columns of a table in memory, coded as a declared formula reads them.

    Raises
    ------
    InputError
        If a column is not there or does not hold numbers by its type; or is a list,
        whose type would follow from its values.
    """
    if isinstance(table, Mapping):
        for name in columns_of(declared):
            if isinstance(table.get(name), list | tuple):
                raise InputError(
                    f"the column {name!r} is a {type(table[name]).__name__}, which has "
                    "no type. Give an array, or a table."
                )
    known = Declared.of(declared["bounds"], declared["levels"])
    return CodedTable(table, columns_of(declared), known.levels)


def _require_declared(parsed: Parsed, declared: Declared) -> None:
    """Name all columns on the right of which nothing is declared, at once."""
    of_levels = _of_levels(parsed)
    known = {*declared.bounds, *declared.levels}
    unknown = [name for name in _covariates(parsed) if name not in known]
    declared.require(
        [name for name in unknown if name not in of_levels],
        [name for name in unknown if name in of_levels],
    )


def _of_levels(parsed: Parsed) -> set[str]:
    """The columns that a formula takes as levels: groups, and those in C."""
    found = {name for one in parsed.groups for name in one.factors}
    for term in parsed.terms:
        for part in term:
            if isinstance(part, Call) and part.function == "C":
                found |= set(columns_in(part))
    return found


def _covariates(parsed: Parsed) -> list[str]:
    """The columns on the right of the formula."""
    parts = [one for term in parsed.terms for one in term]
    parts += [*parsed.offsets, *(one.slope for one in parsed.groups if one.slope)]
    names = [name for part in parts for name in columns_in(part)]
    names += [name for one in parsed.groups for name in one.factors]
    return list(dict.fromkeys(names))


def steps_of(regression: Regression) -> dict[str, list[Step]]:
    """How each column is prepared, by what is declared of it."""
    declared, steps = regression.declared, dict[str, list[Step]]()
    for name in _covariates(regression.parsed):
        if name in declared.levels:
            steps[name] = [OneHot(declared.levels[name].codes)]
        else:
            steps[name] = [Clamp(*declared.bounds[name])]
    return {**steps, **regression.response.steps()}


def _family(name: Any) -> Family:
    plain = str(name).lower().replace("_", "-").replace(" ", "-")
    plain = _OTHER_NAMES.get(plain.replace("-", ""), plain)
    if plain not in FAMILIES:
        raise InputError(
            f"family is {name!r}; it must be one of {', '.join(FAMILIES)}."
        )
    return FAMILIES[plain]


def _items(name: str, given: Any) -> Any:
    if not isinstance(given, Mapping):
        raise InputError(
            f"{name} is a {type(given).__name__}; it must be a dict by the names of "
            "columns."
        )
    return given.items()


def _pair(given: Any) -> Any:
    """Bounds as JSON has them; what is no pair is refused where they are checked."""
    return list(given) if isinstance(given, Iterable) else given


def _unit(name: str, given: Any, declared: Sequence[str]) -> str:
    if name not in declared:
        raise InputError(
            f"units names {name!r}, of which neither bounds nor levels are declared. "
            "Give them, or leave the unit out."
        )
    if not isinstance(given, str):
        raise InputError(f"units[{name!r}] is {given!r}; it must be text, as 'years'.")
    return given


def _plain(values: Any) -> Any:
    """Levels as JSON has them."""
    if isinstance(values, str):
        return values
    try:
        return [getattr(one, "item", lambda one=one: one)() for one in values]
    except TypeError:
        return values
