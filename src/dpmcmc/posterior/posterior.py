# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The posterior: draws with their privacy statement."""

import html
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpmcmc.aligned import filled
from dpmcmc.errors import InputError
from dpmcmc.model.coords import Coords, Dims, checked_coords, require_fitting, titles_of
from dpmcmc.posterior.statement import Statement
from dpmcmc.posterior.summary import caution, shapes_of_draws, summarise, table

if TYPE_CHECKING:
    import pandas
    from arviz import InferenceData

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

        Effective sample sizes and R-hats are the chain's own.
        """
        return summarise(self.draws, self.chain_draws, self.titles)

    def to_arviz(self) -> "InferenceData":
        """Convert to an ``InferenceData`` whose attributes carry the statement.

        ``draws`` are its posterior; the chain's own draws, where they differ, are in a
        group named ``chain``.
        """
        from dpmcmc.posterior.netcdf import to_arviz  # noqa: PLC0415 - slow to import

        return to_arviz(self)

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
        summary = self.summary()
        warning = caution(summary, self.accepted)
        verdict = self.statement.verdict
        return "\n".join(
            [
                self._title(),
                "",
                *table(summary),
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
        verdict = self.statement.verdict
        said = "" if verdict is None else f"<p>{html.escape(str(verdict))}</p>"
        return (
            f"<p><b>{html.escape(self._title())}</b></p>{self.summary().to_html()}{said}"
            "<details><summary>Privacy statement</summary>"
            f"{self.statement._repr_html_()}</details>"
        )

    def _title(self) -> str:
        chains, draws = self.accepted.shape
        return (
            f"Posterior: {chains} × {draws:,} draws, {self.accepted.mean():.0%} "
            f"accepted, {self.statement.label}"
        )
