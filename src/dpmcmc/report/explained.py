# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The model of a report, where it was a formula: in words, as ratios, in predictions.

Everything is made from draws and from what was declared: it costs nothing.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpmcmc.errors import InputError
from dpmcmc.posterior.posterior import Posterior
from dpmcmc.report.elements import Html, fill, paragraph, read, table
from dpmcmc.report.numbers import number

if TYPE_CHECKING:
    from dpmcmc.models.formulas.linear_model import Regression

__all__ = ["model_section", "predictions_section"]

_MEANS = {
    "gaussian": "the mean of {y}, about which it is normal,",
    "student-t": "the centre of {y}, about which it has Student’s t distribution,",
    "bernoulli": "the log odds that {y} is {yes}",
    "binomial": "the log odds of each of the {beside} trials that {y} counts",
    "poisson": "the logarithm of the mean of {y}, a Poisson count,",
    "negative-binomial": "the logarithm of the mean of {y}, a negative-binomial count,",
    "ordinal": "the log odds of a higher level of {y}",
    "categorical": "the log odds of each level of {y} against the first",
    "gamma": "the logarithm of the mean of {y}, which has a gamma distribution,",
    "weibull": "the logarithm of the scale of {y}, which has a Weibull distribution,",
}
_RATIOS = {
    "odds ratio": "how many times the odds are for one unit more of the column, or for "
    "the level instead of the first",
    "rate ratio": "how many times the mean count is for one unit more of the column, "
    "or for the level instead of the first",
    "ratio of means": "how many times the mean is for one unit more of the column, or "
    "for the level instead of the first",
    "time ratio": "how many times as long it takes for one unit more of the column, or "
    "for the level instead of the first",
}
_MOST_LEVELS, _MOST_VARIED = 8, 4


def model_section(posterior: Posterior) -> Html:
    """The section on the model; nothing if it was not declared by a formula."""
    regression = _regression(posterior)
    if regression is None or posterior.declared is None:
        return Html()
    declared, response = posterior.declared, regression.response
    meant = _MEANS[regression.family.name].format(
        y=response.name, beside=response.beside, yes=_yes(regression)
    )
    return fill(
        read("model.html"),
        formula=declared["formula"],
        family=regression.family.name,
        words=f"It models {meant} as a sum of {_terms(regression)}.",
        prior=_prior(declared, regression),
        columns=_columns(declared, regression),
        ratios=_ratios(posterior, regression),
    )


def predictions_section(posterior: Posterior) -> Html:
    """Predictions for a few made-up rows; nothing if there is no formula."""
    regression = _regression(posterior)
    if regression is None or posterior.declared is None:
        return Html()
    from dpmcmc.models.formulas import Predictor  # noqa: PLC0415 - an extra

    units = posterior.declared.get("units", {})
    covariates = Predictor(posterior.declared, {}).covariates
    base, varied = _typical(regression, covariates)
    rows = [base, *({**base, name: value} for name, value in varied)]
    names = ["as said above", *(_said(name, value, units) for name, value in varied)]
    found = posterior.predict(
        {name: [row[name] for row in rows] for name in base} or {"": [0]}
    )
    means = found.draws["mean"]
    flat = means.reshape(-1, *means.shape[2:])
    response = regression.response
    what = f"the mean of {response.name}"
    if flat.ndim == 3:
        what = f"the probabilities of levels of {response.name}"
        head = ["Row", *(f"P({level})" for level in response.levels)]
        shown = [
            [name, *(f"{one:.1%}" for one in flat[:, place].mean(axis=0))]
            for place, name in enumerate(names)
        ]
    else:
        unit = units.get(response.name, "")
        head = ["Row", f"Mean{unit and f' ({unit})'}", "94% interval of the mean"]
        if response.kind == "yes-no":
            what = f"the probability that {response.name} is {_yes(regression)}"
            head, flat = ["Row", "Probability (%)", "94% interval"], 100 * flat
        shown = [[name, *_interval(flat[:, place])] for place, name in enumerate(names)]
    said = "; ".join(_said(name, value, units) for name, value in base.items())
    return fill(
        read("predictions.html"),
        what=what,
        base=said or "there are no covariates",
        table=table("Predictions for made-up rows", head, shown, "numbers"),
    )


def _regression(posterior: Posterior) -> "Regression | None":
    """The formula, if there is one and what parses it is installed."""
    if posterior.declared is None:
        return None
    from dpmcmc.models.formulas import Predictor  # noqa: PLC0415 - an extra

    try:
        return Predictor(posterior.declared, {}).regression
    except InputError:  # formulae is not installed where the report is made
        return None


def _yes(regression: "Regression") -> str:
    """What a response of two values is, where it is the one that counts as 1."""
    levels = regression.response.levels
    return levels[1] if levels else "1"


def _terms(regression: "Regression") -> str:
    """What is added up, in words."""
    terms = []
    if regression.has_intercept:
        terms.append("an intercept")
    if regression.family.kind == "ordered":
        terms.append("a cutpoint between levels")
    if regression.rows.size:
        terms.append(f"{regression.rows.size} coefficients (each times its column)")
    for one in regression.effects.terms:
        what = "an intercept"
        if one.slope is not None:
            what = f"a slope of {one.group.slope}"
        terms.append(
            f"{what} for each of {len(one.levels)} levels of {one.group.factor}"
        )
    return " and ".join([", ".join(terms[:-1]), terms[-1]] if terms[1:] else terms)


def _prior(declared: Mapping[str, Any], regression: "Regression") -> str:
    scale, groups = declared["prior_scale"], declared["group_scale"]
    where = "in quarters of its declared range"
    if regression.family.kind != "number":
        where = "on the scale of that sum"
    words = (
        "Before any record was read, coefficients were taken to be normal about 0, "
        f"with an sd of {scale:g} {where}, for a quarter of the declared range of a "
        "column or for a level."
    )
    if declared["priors"]:
        own = ", ".join(f"{name}: {sd:g}" for name, sd in declared["priors"].items())
        words += f" For one unit of these columns it was set: {own}."
    if regression.effects.terms:
        words += (
            " Effects of groups were taken to be normal about 0, with an sd whose "
            f"logarithm is normal about that of {groups:g}, with an sd of 1."
        )
    return words


def _columns(declared: Mapping[str, Any], regression: "Regression") -> Html:
    """What was declared of each column, with units of measurement."""
    from dpmcmc.models.formulas import columns_of  # noqa: PLC0415 - an extra

    known, units, rows = regression.declared, declared.get("units", {}), []
    for name in columns_of(declared):
        if name in known.levels:
            levels = known.levels[name].names
            more = f", … ({len(levels)} in all)" if len(levels) > _MOST_LEVELS else ""
            what = ", ".join(levels[:_MOST_LEVELS]) + more
        elif name in known.bounds:
            low, high = known.bounds[name]
            what = f"{low:g} to {high:g}"
        else:
            what = "0 or 1"
        rows.append([name, units.get(name, ""), what])
    head = ["Column", "Unit", "Values that were declared"]
    if not units:
        head, rows = [head[0], head[2]], [[row[0], row[2]] for row in rows]
    return table("Columns", head, rows, "texts")


def _ratios(posterior: Posterior, regression: "Regression") -> Html:
    name = regression.family.ratio
    if name is None or "coefficients" not in posterior.draws:
        return Html()
    rows = []
    for title, row in posterior.ratios().iterrows():
        ends = [number(row[f"hdi_{end}%"], row["sd"]) for end in (3, 97)]
        inside = str(title)[len(name) + 1 : -1]
        rows.append([inside, number(row["mean"], row["sd"]), " to ".join(ends)])
    head = ["Column", f"{name[0].upper()}{name[1:]}", "94% interval"]
    words = f"The {name} says {_RATIOS[name]}; 1 means no difference."
    shown = table(f"{name[0].upper()}{name[1:]}s", head, rows, "numbers")
    return Html(f"{paragraph(words)}{shown}")


def _typical(
    regression: "Regression", covariates: Sequence[str]
) -> tuple[dict[str, Any], Sequence[tuple[str, Any]]]:
    """A row in the middle of what was declared, and changes of single columns.

    The middle of a positive range that spans more than a hundredfold is geometric; what
    goes from 0 to 1 is 0, then 1.
    """
    known = regression.declared
    base: dict[str, Any] = {}
    varied: list[tuple[str, Any]] = []
    for name in covariates:
        if name in known.levels:
            levels = known.levels[name]
            values = levels.names if levels.is_text else levels.codes
            base[name] = values[0]
            varied.append((name, values[1]))
            continue
        low, high = known.bounds[name]
        if (low, high) == (0, 1):  # most often a mark
            base[name] = 0
            varied.append((name, 1))
            continue
        if low > 0 and high > 100 * low:
            places = np.exp(np.interp([0.25, 0.5, 0.75], [0, 1], np.log([low, high])))
        else:
            places = np.interp([0.25, 0.5, 0.75], [0, 1], [low, high])
        quarter, middle, most = (_rounded(one, high - low) for one in places)
        base[name] = middle
        varied += [(name, quarter), (name, most)]
    return base, varied[: 2 * _MOST_VARIED]


def _rounded(value: float, width: float) -> float:
    return round(value, max(0, 1 - math.floor(math.log10(width / 4))))


def _said(name: str, value: Any, units: Mapping[str, str]) -> str:
    shown = value if isinstance(value, str) else f"{value:g}"
    return f"{name} {shown}{' ' * (name in units)}{units.get(name, '')}"


def _interval(draws: np.ndarray) -> list[str]:
    low, high = np.quantile(draws, [0.03, 0.97])
    sd = float(draws.std())
    return [number(float(draws.mean()), sd), f"{number(low, sd)} to {number(high, sd)}"]
