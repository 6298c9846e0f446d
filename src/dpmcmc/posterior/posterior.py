# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The posterior: draws with their privacy statement."""

import html
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpmcmc.aligned import filled
from dpmcmc.errors import InputError
from dpmcmc.model.coords import Coords, Dims, checked_coords, require_fitting, titles_of
from dpmcmc.posterior.statement import Statement
from dpmcmc.posterior.summary import (
    caution,
    html_table,
    shapes_of_draws,
    summarise,
    table,
)

if TYPE_CHECKING:
    import pandas
    from arviz import InferenceData

    from dpmcmc.posterior.predictions import Predictions
    from dpmcmc.posterior.synthetic_tables import Synthetic

__all__ = ["Posterior"]

Draws = Mapping[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class Posterior:
    """Draws from a posterior, and what they cost.

    Attributes
    ----------
    draws
        The draws to use: one array for each parameter, of shape (chains, draws, …).
        Where something was released with noise before the chain, they know of it:
        each is a draw of the chain moved by as much as the noise may have moved the
        posterior. Parameters are named by their place in θ: ``mean``,
        ``group.scale``, ``theta``.
    accepted
        Whether each step was accepted, of shape (chains, draws).
    statement
        The privacy statement.
    chain_draws
        The chain's own draws, before they were moved; the same as ``draws`` where
        there was no such noise.
    warmup_draws, warmup_accepted
        The chain's own draws in the steps set aside as warm-up. They were released and
        paid for like the others; only summaries leave them out.
    settings
        How the run was made, in words.
    coords, dims
        Names for the places of parameters, as in `Model` and ArviZ. They are public.
    declared
        How the model was declared, if it was by `dpmcmc.formula`; what predicts and
        makes synthetic tables.
    """

    draws: Draws
    accepted: np.ndarray
    statement: Statement
    chain_draws: Draws
    warmup_draws: Draws
    warmup_accepted: np.ndarray
    settings: Mapping[str, str] = field(default_factory=dict)
    coords: Coords = field(default_factory=dict)
    dims: Dims = field(default_factory=dict)
    declared: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        coords, dims = checked_coords(self.coords, self.dims)
        object.__setattr__(self, "coords", coords)
        object.__setattr__(self, "dims", dims)
        require_fitting(coords, dims, shapes_of_draws(self.draws))

    @property
    def is_noise_aware(self) -> bool:
        """Whether draws were moved by noise that was released before the chain."""
        return self.draws is not self.chain_draws

    @property
    def titles(self) -> list[str]:
        """What each coordinate is called, in the order of the parameters."""
        return titles_of(shapes_of_draws(self.draws), self.coords, self.dims)

    def summary(self) -> "pandas.DataFrame":
        """Mean, sd, 94% interval, effective sample size and R-hat of each coordinate.

        All are of ``draws``, and the same as ArviZ finds for `to_arviz`. Whether the
        chain's own draws have mixed is in the verdict.
        """
        return summarise(self.draws, self.titles)

    def predict(self, rows: Any) -> "Predictions":
        """Predict the mean of the response for rows, with intervals; it is free.

        Parameters
        ----------
        rows
            A table, or a dict of columns, with the covariates of the formula: public or
            made up. Probabilities are predicted where the response has levels.
        """
        from dpmcmc.posterior.predictions import predict  # noqa: PLC0415 - slow

        return predict(self, rows)

    def predictive(
        self, rows: Any, *, check: bool = False, seed: int | None = None
    ) -> "Predictions":
        """Draw responses for rows, one for each draw; it is free.

        Parameters
        ----------
        rows
            As in `predict`.
        check
            Whether rows have responses to be compared with: public or simulated ones.
            To compare with the sensitive records would cost what no statement knows.
        seed
            Makes it repeatable.
        """
        from dpmcmc.posterior.predictions import predictive  # noqa: PLC0415 - slow

        return predictive(self, rows, check=check, seed=seed)

    def synthesize(
        self,
        n: int,
        *,
        covariates: Any = None,
        tables: int = 1,
        seed: int | None = None,
    ) -> "Synthetic":
        """Make synthetic tables, each from another draw of the parameters; it is free.

        Parameters
        ----------
        n
            How many rows a table has: about as many as there are records, for
            `dpmcmc.combine`.
        covariates
            A public table, of which rows are drawn with replacement. Unless given, they
            are even within declared bounds and over declared levels: real ones seldom
            are.
        tables
            How many tables.
        seed
            Makes them repeatable.
        """
        from dpmcmc.posterior.synthetic_tables import synthesize  # noqa: PLC0415 - slow

        return synthesize(self, n, covariates=covariates, tables=tables, seed=seed)

    def transform(
        self, *, dims: Dims | None = None, **functions: Callable[..., Any]
    ) -> "Posterior":
        """The posterior with functions of its parameters added; it is free.

        Parameters
        ----------
        dims
            Dimensions of what is added; unless given, those of the parameters of the
            same shape, if they agree.
        functions
            By name, functions of a dict of draws of shape (chains, draws, …):
            ``transform(odds_ratio=lambda draws: np.exp(draws["coefficients"]))``.
        """
        from dpmcmc.posterior.functions import transform  # noqa: PLC0415 - slow

        return transform(self, functions, dims or {})

    def ratios(self) -> "pandas.DataFrame":
        """Odds ratios or rate ratios of coefficients, with 94% intervals."""
        from dpmcmc.posterior.functions import ratios  # noqa: PLC0415 - slow

        return ratios(self)

    def to_table(self, path: str | Path | None = None) -> "pandas.DataFrame":
        """One row a draw, as R's ``posterior`` reads it; written to a file if given.

        A .csv or .parquet file has the statement beside it.
        """
        from dpmcmc.posterior.export import (  # noqa: PLC0415 - slow
            table_of_draws,
            write_table,
        )

        table = table_of_draws(self)
        if path is not None:
            write_table(table, path, self.statement)
        return table

    def to_arviz(
        self,
        *,
        posterior_predictive: "Predictions | None" = None,
        predictions: "Predictions | None" = None,
    ) -> "InferenceData":
        """Convert to an ``InferenceData`` whose attributes carry the statement.

        ``draws`` are its posterior; the chain's own draws, where they differ, are in a
        group named ``chain``.

        Parameters
        ----------
        posterior_predictive, predictions
            What `predictive` and `predict` made, for the groups of these names.
        """
        from dpmcmc.posterior.netcdf import to_arviz  # noqa: PLC0415 - slow to import

        groups = {
            "posterior_predictive": posterior_predictive,
            "predictions": predictions,
        }
        made = {name: one.draws for name, one in groups.items() if one is not None}
        return to_arviz(self, made)

    def save(self, path: str | Path) -> None:
        """Write draws and statement to a netCDF file that `load` and ArviZ read.

        Raises
        ------
        InputError
            If the folder does not exist, or the file cannot be written. Nothing is
            lost: save again elsewhere.
        """
        from dpmcmc.posterior.netcdf import to_netcdf  # noqa: PLC0415 - slow to import

        folder = Path(path).absolute().parent
        if not folder.is_dir():
            raise InputError(
                f"there is no folder {folder}. Make it, or save elsewhere; the draws "
                "are still here."
            )
        data = to_netcdf(self)
        try:
            Path(path).write_bytes(data)
        except OSError as error:
            raise InputError(
                f"{path} cannot be written ({(error.strerror or 'unknown').lower()}). "
                "Make room, or save elsewhere; the draws are still here."
            ) from None

    @classmethod
    def load(cls, path: str | Path) -> "Posterior":
        """Read a posterior that `save` wrote.

        Raises
        ------
        InputError
            If the file is missing, damaged, or was not written by `save`.
        """
        from dpmcmc.posterior.netcdf import (  # noqa: PLC0415 - slow to import
            from_netcdf,
        )

        return from_netcdf(path)

    def __str__(self) -> str:
        warning = caution(self.chain_draws, self.accepted)
        verdict = self.statement.verdict
        return "\n".join(
            [
                self._title(),
                "",
                *table(self.summary()),
                *(["", filled(str(verdict))] if verdict is not None else []),
                *(["", warning] if warning else []),
                "",
                "The whole privacy statement: print(posterior.statement)",
            ]
        )

    def __repr__(self) -> str:
        chains, draws = self.accepted.shape
        return (
            f"<Posterior: {chains} × {draws} draws of {', '.join(self.draws)}; "
            f"{self.statement.label}>"
        )

    def _repr_html_(self) -> str:
        verdict, warning = (
            "" if said is None else f"<p>{html.escape(str(said))}</p>"
            for said in (
                self.statement.verdict,
                caution(self.chain_draws, self.accepted),
            )
        )
        return (
            f"<p><b>{html.escape(self._title())}</b></p>{html_table(self.summary())}"
            f"{verdict}{warning}<details><summary>Privacy statement</summary>"
            f"{self.statement._repr_html_()}</details>"
        )

    def _title(self) -> str:
        chains, draws = self.accepted.shape
        return (
            f"Posterior: {chains} × {draws:,} draws, {self.accepted.mean():.0%} "
            f"accepted, {self.statement.label}"
        )
