# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Predictions for rows that are public or made up: free, as draws are released.

What is made here carries the statement of the draws, in memory and in files.
"""

import html
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpmcmc.errors import InputError
from dpmcmc.posterior.export import write_table
from dpmcmc.posterior.statement import Statement

if TYPE_CHECKING:
    import pandas

    from dpmcmc.posterior.posterior import Posterior

__all__ = ["Predictions", "compare", "predict", "predictive"]

_LOW, _HIGH = 0.03, 0.97
_ENDS = ("3%", "97%")


@dataclass(frozen=True, eq=False)
class Predictions:
    """What a posterior predicts for rows.

    Attributes
    ----------
    rows
        The rows that it was asked for.
    draws
        By name, arrays of shape (chains, draws, rows, …): ``mean``, of
        `Posterior.predict` (probabilities, along another axis, where the response has
        levels); or responses, of `Posterior.predictive`, by the names of columns.
    levels
        The levels of the response, if it has any.
    observed
        The responses that the rows have, if they were asked to be compared.
    statement
        The privacy statement of the draws.
    """

    rows: "pandas.DataFrame"
    draws: Mapping[str, np.ndarray]
    levels: tuple[str, ...]
    observed: np.ndarray | None
    statement: Statement

    def table(self) -> "pandas.DataFrame":
        """The rows with mean, sd and 94% intervals; or with a column for each level."""
        import pandas as pd  # noqa: PLC0415 - slow to import

        (name, values), *_ = self.draws.items()
        flat = values.reshape(-1, *values.shape[2:])
        if name == "mean" and flat.ndim == 3:
            made = {
                f"P({level})": flat[..., place].mean(axis=0)
                for place, level in enumerate(self.levels)
            }
        elif self.levels:
            codes = [place for place, _ in enumerate(self.levels)]
            made = {
                f"P({level})": (flat == code).mean(axis=0)
                for level, code in zip(self.levels, codes, strict=True)
            }
        else:
            low, high = np.quantile(flat, [_LOW, _HIGH], axis=0)
            made = {"mean": flat.mean(axis=0), "sd": flat.std(axis=0)}
            made |= dict(zip(_ENDS, (low, high), strict=True))
        index = self.rows.index
        return pd.concat([self.rows, pd.DataFrame(made, index=index)], axis=1)

    def coverage(self, probability: float = 0.94) -> float:
        """Which fraction of the observed responses lies within predictive intervals.

        About ``probability`` where the model is right and its draws are. For responses
        with few values it can be more, as intervals hold whole values.
        """
        if self.observed is None or self.levels:
            raise InputError(
                "there are no observed numbers to compare with. Ask predictive(rows, "
                "check=True) of rows with the response, for a response without levels."
            )
        values = next(iter(self.draws.values()))
        flat = values.reshape(-1, values.shape[-1])
        tail = (1 - probability) / 2
        low, high = np.quantile(flat, [tail, 1 - tail], axis=0)
        return float(np.mean((self.observed >= low) & (self.observed <= high)))

    def save(self, path: str | Path) -> None:
        """Write the table to a .csv or .parquet file, and the statement beside it."""
        write_table(self.table(), path, self.statement)

    def __repr__(self) -> str:
        return (
            f"<Predictions of {', '.join(self.draws)} for {len(self.rows):,} rows; "
            f"{self.statement.label}>"
        )

    def __str__(self) -> str:
        shown = self.table().to_string(max_rows=20)
        return f"{shown}\n\nFrom draws that are {self.statement.label}."

    def _repr_html_(self) -> str:
        label = f"<p>From draws that are {html.escape(self.statement.label)}.</p>"
        return f"{self.table().to_html(max_rows=20)}{label}"


def predict(posterior: "Posterior", rows: Any) -> Predictions:
    """As `Posterior.predict`."""
    predictor = predictor_of(posterior)
    made = predictor.expected(predictor.rows(rows))
    return _predictions(posterior, predictor, rows, {"mean": made}, None)


def predictive(
    posterior: "Posterior", rows: Any, *, check: bool, seed: int | None
) -> Predictions:
    """As `Posterior.predictive`."""
    predictor = predictor_of(posterior)
    prepared = predictor.rows(rows, with_response=check)
    response = predictor.regression.response
    observed = None
    if check:
        observed = np.asarray(response.original(prepared.columns[response.name]))
    seed = secrets.randbits(32) if seed is None else seed
    made = predictor.responses(prepared, seed)
    return _predictions(posterior, predictor, rows, made, observed)


def compare(posteriors: Mapping[str, "Posterior"], rows: Any) -> "pandas.DataFrame":
    """Compare models by how well they predict public or synthetic rows.

    Parameters
    ----------
    posteriors
        Posteriors of formulas with the same response, by name.
    rows
        Rows with the response: public, or from `Posterior.synthesize`. To compare on
        the sensitive records would cost privacy, of which no statement would know.

    Returns
    -------
    pandas.DataFrame
        For each model, best first: ``elpd``, the sum over rows of the logarithm of its
        mean predictive density; its standard error ``se``; and the difference to the
        best with the standard error of that.
    """
    import pandas as pd  # noqa: PLC0415 - slow to import

    if len(posteriors) < 2:
        raise InputError("compare takes at least two posteriors, by name.")
    each, responses = {}, set()
    for name, posterior in posteriors.items():
        predictor = predictor_of(posterior)
        responses.add(predictor.regression.response.name)
        logs = predictor.log_densities(predictor.rows(rows, with_response=True))
        top = logs.max(axis=0)
        each[name] = top + np.log(np.exp(logs - top).mean(axis=0))
    if len(responses) > 1:
        raise InputError(
            f"the models explain {', '.join(sorted(responses))}; to be compared they "
            "must explain the same response."
        )
    best = max(each, key=lambda name: each[name].sum())
    count = len(each[best])
    found = pd.DataFrame(
        {
            "elpd": {name: values.sum() for name, values in each.items()},
            "se": {name: count**0.5 * values.std() for name, values in each.items()},
            "difference": {
                name: (values - each[best]).sum() for name, values in each.items()
            },
            "difference_se": {
                name: count**0.5 * (values - each[best]).std()
                for name, values in each.items()
            },
        }
    )
    return found.sort_values("elpd", ascending=False)


def predictor_of(posterior: "Posterior") -> Any:
    """What predicts from the draws of a formula."""
    if posterior.declared is None:
        raise InputError(
            "the posterior does not know its model: it was not made from a formula. "
            "Write the model with dpmcmc.formula, or use the draws as they are "
            "(posterior.draws, posterior.transform)."
        )
    from dpmcmc.models.formulas import Predictor  # noqa: PLC0415 - an extra

    flat = {
        name: values.reshape(-1, *values.shape[2:]).astype(np.float64)
        for name, values in posterior.draws.items()
    }
    return Predictor(posterior.declared, flat)


def _predictions(
    posterior: "Posterior",
    predictor: Any,
    rows: Any,
    made: Mapping[str, np.ndarray],
    observed: np.ndarray | None,
) -> Predictions:
    shape = posterior.accepted.shape
    return Predictions(
        _frame(rows, predictor.covariates),
        {
            name: values.reshape(*shape, *values.shape[1:])
            for name, values in made.items()
        },
        predictor.regression.response.levels,
        observed,
        posterior.statement,
    )


def _frame(rows: Any, names: tuple[str, ...]) -> "pandas.DataFrame":
    """The covariates of rows, as a table to show."""
    import pandas as pd  # noqa: PLC0415 - slow to import

    from dpmcmc.models.formulas import series_of  # noqa: PLC0415 - an extra

    columns = series_of(rows)
    listed = {name: columns[name].to_list() for name in names}
    size = len(next(iter(columns.values())))
    return pd.DataFrame(listed, index=range(size))
