# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Synthetic tables of a posterior, and estimates from several of them put together."""

import html
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpmcmc.errors import InputError, require_count
from dpmcmc.posterior.export import write_table
from dpmcmc.posterior.predictions import predictor_of
from dpmcmc.posterior.statement import Statement

if TYPE_CHECKING:
    import pandas

    from dpmcmc.posterior.posterior import Posterior

__all__ = ["Combined", "Synthetic", "combine", "synthesize"]


@dataclass(frozen=True, eq=False)
class Synthetic:
    """Synthetic tables, each from another draw of the parameters.

    Attributes
    ----------
    tables
        The tables, with covariates and response by the names that the formula has.
    statement
        The privacy statement of the draws, which is that of the tables, too.
    covariates
        Where covariates come from, in words.
    """

    tables: "tuple[pandas.DataFrame, ...]"
    statement: Statement
    covariates: str

    def save(self, path: str | Path) -> tuple[Path, ...]:
        """Write each table to a .csv or .parquet file with the statement beside it.

        Several are numbered: ``table.csv`` becomes ``table-1.csv``, and so on.
        """
        target = Path(path)
        places = [target]
        if len(self.tables) > 1:
            places = [
                target.with_name(f"{target.stem}-{one + 1}{target.suffix}")
                for one in range(len(self.tables))
            ]
        for table, place in zip(self.tables, places, strict=True):
            write_table(table, place, self.statement)
        return tuple(places)

    def __repr__(self) -> str:
        return (
            f"<Synthetic: {len(self.tables)} × {len(self.tables[0]):,} rows of "
            f"{', '.join(self.tables[0].columns)}; {self.statement.label}>"
        )

    def _repr_html_(self) -> str:
        words = html.escape(
            f"{len(self.tables)} synthetic tables, {self.statement.label}; covariates: "
            f"{self.covariates}. The first of them:"
        )
        return f"<p>{words}</p>{self.tables[0].to_html(max_rows=10)}"


def synthesize(
    posterior: "Posterior",
    count: int,
    *,
    covariates: Any,
    tables: int,
    seed: int | None,
) -> Synthetic:
    """As `Posterior.synthesize`."""
    import pandas as pd  # noqa: PLC0415 - slow to import

    from dpmcmc.models.formulas import Predictor, declared_rows  # noqa: PLC0415

    count = require_count("n", count, "Give the number of rows of a table.")
    tables = require_count("tables", tables, "Several show how sure they are.")
    whole = predictor_of(posterior)
    rng = np.random.default_rng(seed if seed is not None else secrets.randbits(64))
    size = len(next(iter(whole.draws.values())))
    made = []
    for place in rng.choice(size, tables, replace=tables > size):
        own = int(rng.integers(2**31))
        one = Predictor(
            whole.declared,
            {name: values[place : place + 1] for name, values in whole.draws.items()},
        )
        rows = declared_rows(one, count, covariates, own)
        table = rows if rows else {"": np.zeros(count)}
        drawn = one.responses(one.rows(table), own)
        responses = {name: values[0] for name, values in drawn.items()}
        made.append(pd.DataFrame({**rows, **_texts(one, responses)}))
    said = "rows of a public table" if covariates is not None else "even within bounds"
    return Synthetic(tuple(made), posterior.statement, said)


def _texts(predictor: Any, responses: Any) -> dict[str, Any]:
    """Responses with levels as the table has them."""
    response = predictor.regression.response
    levels = predictor.regression.declared.levels.get(response.name)
    if levels is None or not levels.is_text:
        return dict(responses)
    codes = responses[response.name].astype(int)
    return {**responses, response.name: [levels.names[code] for code in codes]}


class Combined(NamedTuple):
    """An estimate from several synthetic tables: its value, sd, and a 95% interval."""

    estimate: float
    sd: float
    low: float
    high: float


def combine(estimates: Sequence[float], variances: Sequence[float]) -> Combined:
    """Combine estimates from synthetic tables, by the rules of Raghunathan and others.

    Each table comes from another draw of the parameters. With m tables, the variance
    is (1 + 1/m) b − ū, with b the variance between estimates and ū the mean of their
    own (Raghunathan, Reiter and Rubin 2003); where that is not positive, ū times the
    number of synthetic rows over that of the records is not known here, and b is used.
    Rows of a table should be about as many as there were records.

    Parameters
    ----------
    estimates, variances
        An estimate from each table, and its squared standard error as if the table
        were real.
    """
    from scipy.stats import t  # noqa: PLC0415 - slow to import

    values, own = np.asarray(estimates, float), np.asarray(variances, float)
    count = len(values)
    if count < 2 or own.shape != values.shape:
        raise InputError(
            f"there are {count} estimates and {own.size} variances; give as many of "
            "both, from at least two tables."
        )
    between, within = float(values.var(ddof=1)), float(own.mean())
    total = (1 + 1 / count) * between - within
    if total <= 0:
        total = (1 + 1 / count) * between
        degrees = count - 1.0
    else:
        degrees = (count - 1) * (1 - within / ((1 + 1 / count) * between)) ** 2
    sd = total**0.5
    reach = sd * float(t.ppf(0.975, max(degrees, 1.0)))
    middle = float(values.mean())
    return Combined(middle, sd, middle - reach, middle + reach)
