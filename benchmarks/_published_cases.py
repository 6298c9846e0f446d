# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Published models to run: where each stands, and simulated records of its kind."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from _published_code import function_in, with_in

__all__ = ["NUMPYRO", "PYMC", "Case"]

Simulate = Callable[[np.random.Generator, int], dict[str, np.ndarray]]
GROUPS = 6


@dataclass(frozen=True)
class Case:
    """A model of a checkout, and records for it.

    Attributes
    ----------
    file
        Where it stands in the checkout.
    name
        The name of the function, or of the model that a ``with`` statement makes.
    simulate
        Records of that kind.
    place
        For a ``with`` statement: under which names it finds its data.
    given
        For a function: what else it reads, and public arguments that are bound.
    """

    file: str
    name: str
    simulate: Simulate
    place: Callable[[Any], Mapping[str, Any]] | None = None
    given: Mapping[str, Any] | None = None
    bound: Mapping[str, Any] | None = None

    def load(self, folder: Path) -> Callable[..., Any]:
        """The model, unchanged."""
        path = folder / self.file
        if self.place is not None:
            return with_in(path, self.name, self.place)
        found = function_in(path, self.name, self.given or {})
        return partial(found, **self.bound) if self.bound else found


def _design(rng: np.random.Generator, n: int, width: int) -> np.ndarray:
    return np.column_stack([np.ones(n), rng.uniform(-1, 1, (n, width - 1))])


def _coin(rng: np.random.Generator, logit: np.ndarray) -> np.ndarray:
    return (rng.uniform(size=len(logit)) < 1 / (1 + np.exp(-logit))).astype(np.int32)


def _yes_no(x: str, y: str) -> Simulate:
    def simulate(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
        design = _design(rng, n, 3)
        return {x: design, y: _coin(rng, design @ [0.5, 1.0, -0.7])}

    return simulate


def _divorces(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    marriage, age = rng.normal(size=(2, n))
    divorce = 0.1 - 0.2 * marriage - 0.6 * age + rng.normal(0, 0.8, n)
    return {"marriage": marriage, "age": age, "divorce": divorce}


def _fish(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    design = _design(rng, n, 3)
    none = _coin(rng, design @ [-0.5, 0.8, 0.0])
    count = rng.poisson(np.exp(design @ [0.8, 0.3, -0.4])) * (1 - none)
    return {"X": design, "Y": count.astype(np.int32)}


def _levels(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    x = rng.normal(size=n)
    y = np.digitize(0.8 * x + rng.logistic(size=n), [-0.5, 1.0])
    return {"X": x, "Y": y.astype(np.int32)}


def _revenue(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    treatment = rng.integers(0, 2, n).astype(float)
    return {
        "y_post": 1 + 0.5 * treatment + rng.normal(0, 1.5, n),
        "treatment": treatment,
    }


def _cut(rng: np.random.Generator, n: int, *, is_truncated: bool) -> dict[str, Any]:
    """A line between -1 and 2: records beyond are left out, or put at the bounds."""
    x = rng.uniform(-2, 2, 4 * n)
    y = 0.3 + 0.7 * x + rng.normal(0, 0.8, 4 * n)
    kept = np.flatnonzero((y > -1) & (y < 2) if is_truncated else np.isfinite(y))[:n]
    return {"x": x[kept], "y": np.clip(y[kept], -1, 2)}


def _radon(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    county, floor = rng.integers(0, GROUPS, n), rng.integers(0, 2, n).astype(float)
    level = np.linspace(0.8, 2.0, GROUPS)[county] - 0.7 * floor
    return {"county": county, "floor": floor, "radon": level + rng.normal(0, 0.7, n)}


def _sneezes(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    alcohol, nomeds = rng.integers(0, 2, (2, n))
    rate = np.exp(0.5 + 0.6 * alcohol + 0.4 * nomeds - 0.2 * alcohol * nomeds)
    return {
        "alcohol": alcohol,
        "nomeds": nomeds,
        "alcohol:nomeds": alcohol * nomeds,
        "nsneeze": rng.poisson(rate),
    }


def _matches(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    home, away = rng.integers(0, GROUPS, (2, n))
    attack = np.linspace(-0.4, 0.4, GROUPS)
    defence = 0.3 * np.sin(np.arange(GROUPS))
    return {
        "home": home,
        "away": away,
        "home_score": rng.poisson(np.exp(1.2 + attack[home] + defence[away])),
        "away_score": rng.poisson(np.exp(1.0 + attack[away] + defence[home])),
    }


def _outliers(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    x, sd = rng.uniform(-1, 1, n), rng.uniform(0.3, 0.6, n)
    return {"x": x, "sigma_y": sd, "y": 0.2 + 0.9 * x + sd * rng.standard_t(3, n)}


def _groups(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    group, x = rng.integers(0, GROUPS, n), rng.uniform(-1, 1, n)
    y = np.linspace(-1, 1, GROUPS)[group] - 0.5 * x + rng.normal(0, 0.7, n)
    return {"x": x, "group_idx": group, "y": y}


def _times(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    time, end = rng.weibull(1.3, n) * 1.5, rng.uniform(0.5, 3.0, n)
    return {"time": np.minimum(time, end), "end": end}


def _of_counties(table: Any) -> dict[str, Any]:
    return {
        "coords": {"county": [f"county {one}" for one in range(GROUPS)]},
        "county": table["county"],
        "floor_measure": table["floor"],
        "log_radon": table["radon"],
    }


_NOTEBOOKS = "notebooks/source"
NUMPYRO = {
    "logistic regression": Case(
        f"{_NOTEBOOKS}/logistic_regression.ipynb",
        "model",
        _yes_no("data", "labels"),
        given={"dim": 3},
    ),
    "forest cover": Case("examples/covtype.py", "model", _yes_no("data", "labels")),
    "proportion test": Case(
        "examples/proportion_test.py", "model", _yes_no("design_matrix", "outcome")
    ),
    "divorce rates": Case(
        f"{_NOTEBOOKS}/bayesian_regression.ipynb", "model", _divorces
    ),
    "zero-inflated Poisson": Case("examples/zero_inflated_poisson.py", "model", _fish),
    "ordered response": Case(
        f"{_NOTEBOOKS}/ordinal_regression.ipynb", "model3", _levels
    ),
    "difference in means": Case(
        f"{_NOTEBOOKS}/bayesian_cuped.ipynb", "difference_in_means_model", _revenue
    ),
}

_GLM = "examples/generalized_linear_models"
_CENSORED = f"{_GLM}/GLM-truncated-censored-regression.myst.md"
_BOUNDS = {"bounds": [-1, 2]}
PYMC = {
    "truncated regression": Case(
        _CENSORED,
        "truncated_regression",
        partial(_cut, is_truncated=True),
        bound=_BOUNDS,
    ),
    "censored regression": Case(
        _CENSORED,
        "censored_regression",
        partial(_cut, is_truncated=False),
        bound=_BOUNDS,
    ),
    "radon by county": Case(
        f"{_GLM}/multilevel_modeling.myst.md",
        "varying_intercept",
        _radon,
        place=_of_counties,
    ),
    "sneezes": Case(
        f"{_GLM}/GLM-poisson-regression.myst.md",
        "mdl_fish",
        _sneezes,
        place=lambda table: {"mx_ex": table, "mx_en": table},
    ),
    "robust regression": Case(
        f"{_GLM}/GLM-robust-with-outlier-detection.myst.md",
        "mdl_studentt",
        _outliers,
        place=lambda table: {
            "coords": {
                "coefs": ["intercept", "slope"],
                "datapoint_id": range(len(table["x"])),
            },
            "dfhoggs": table,
        },
    ),
    "rugby": Case(
        "examples/case_studies/rugby_analytics.myst.md",
        "model",
        _matches,
        place=lambda table: {
            "coords": {"team": [f"team {one}" for one in range(GROUPS)]},
            "home_idx": table["home"].to_numpy(),
            "away_idx": table["away"].to_numpy(),
            "df_all": table,
        },
    ),
    "Simpson's paradox": Case(
        "examples/causal_inference/GLM-simpsons-paradox.myst.md",
        "model2",
        _groups,
        place=lambda table: {
            "coords": {"group": [f"group {one}" for one in range(GROUPS)]},
            "data": table,
        },
    ),
    "Weibull lifetimes": Case(
        "examples/survival_analysis/weibull_aft.myst.md",
        "model_1",
        _times,
        place=lambda table: {
            "y": table["time"].to_numpy(),
            "y_norm": table["time"].to_numpy(),
            "right_censored": table["end"].to_numpy(),
        },
    ),
}
