# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The posterior: draws with their privacy statement; ArviZ, and files."""

import json
import logging
import textwrap
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray

from dpmcmc.errors import InputError
from dpmcmc.statement import Statement

if TYPE_CHECKING:
    import arviz
    import pandas

__all__ = ["Posterior"]

Draws = Mapping[str, np.ndarray]

_COLUMNS = ["mean", "sd", "hdi_3%", "hdi_97%", "ess_bulk", "ess_tail", "r_hat"]


@dataclass(frozen=True, eq=False)
class Posterior:
    """Draws from a posterior, and what they cost.

    Attributes
    ----------
    draws
        One array for each parameter, of shape (chains, draws, …). Parameters are
        named by their place in θ: ``mean``, ``group.scale``, ``theta``.
    accepted
        Whether each step was accepted, of shape (chains, draws).
    warmup_draws, warmup_accepted
        The same for the steps set aside as warm-up. They were released and paid for
        like the others; only summaries leave them out.
    statement
        The privacy statement.
    settings
        How the run was made, in words.
    """

    draws: Draws
    accepted: np.ndarray
    warmup_draws: Draws
    warmup_accepted: np.ndarray
    statement: Statement
    settings: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def summary(self) -> "pandas.DataFrame":
        """Mean, sd, 94% interval, effective sample size and R-hat of each parameter.

        The R-hat of a single chain compares its two halves. Where there are too few
        draws for a number, it is NaN.
        """
        with _quiet_arviz() as az:
            data: Any = self.to_arviz()
            posterior = data.posterior[list(self.draws)]  # in the order of θ
            statistics = az.summary(posterior, round_to="none")[_COLUMNS[:-1]]
            if posterior.sizes["chain"] == 1:
                posterior = _halves(posterior)
            r_hat = az.summary(posterior, round_to="none", kind="diagnostics")["r_hat"]
        return statistics.assign(r_hat=r_hat)

    def to_arviz(self) -> "arviz.InferenceData":
        """Convert to an ``InferenceData`` whose attributes carry the statement."""
        attributes = {
            "privacy": self.statement.label,
            "privacy_statement": self.statement.text,
            "dpmcmc_statement": self.statement.to_json(),
            "dpmcmc_settings": json.dumps(dict(self.settings)),
            "dpmcmc_parameters": json.dumps(list(self.draws)),
        }
        groups = {
            "posterior": dict(self.draws),
            "sample_stats": {"accepted": self.accepted},
        }
        if self.warmup_accepted.shape[1]:
            groups["warmup_posterior"] = dict(self.warmup_draws)
            groups["warmup_sample_stats"] = {"accepted": self.warmup_accepted}
        with _quiet_arviz() as az:
            return az.from_dict(
                **groups,
                save_warmup=True,
                attrs=attributes,
                posterior_attrs=attributes,
                posterior_warmup_attrs=attributes,
                sample_stats_attrs=attributes,
                sample_stats_warmup_attrs=attributes,
            )

    def save(self, path: str | Path) -> None:
        """Write draws and statement to a netCDF file that `load` and ArviZ read."""
        self.to_arviz().to_netcdf(str(path), engine="h5netcdf")

    @classmethod
    def load(cls, path: str | Path) -> "Posterior":
        """Read a posterior that `save` wrote.

        Raises
        ------
        InputError
            If the file is missing, damaged, or was not written by `save`.
        """
        if not Path(path).is_file():
            raise InputError(f"there is no file {path}. Give a file that was saved.")
        try:
            return cls._read(path)
        except Exception:  # whatever a damaged file may cause
            raise InputError(
                f"{path} is not a posterior that dpmcmc saved, or it is damaged. Give "
                "a file written by Posterior.save, or make it again from a copy."
            ) from None

    @classmethod
    def _read(cls, path: str | Path) -> "Posterior":
        data = _arviz().from_netcdf(str(path), engine="h5netcdf")
        posterior, stats = data.posterior, data.sample_stats
        warm_up = getattr(data, "warmup_posterior", posterior.isel(draw=slice(0)))
        warm_stats = getattr(data, "warmup_sample_stats", stats.isel(draw=slice(0)))
        # The file sorts the parameters by name; θ may have another order.
        names = json.loads(data.attrs["dpmcmc_parameters"])
        return cls(
            draws={name: posterior[name].to_numpy() for name in names},
            accepted=stats["accepted"].to_numpy().astype(bool),
            warmup_draws={name: warm_up[name].to_numpy() for name in names},
            warmup_accepted=warm_stats["accepted"].to_numpy().astype(bool),
            statement=Statement.from_json(data.attrs["dpmcmc_statement"]),
            settings=MappingProxyType(json.loads(data.attrs["dpmcmc_settings"])),
        )

    def __str__(self) -> str:
        chains, draws = self.accepted.shape
        head = f"Posterior: {chains} × {draws:,} draws, {self.accepted.mean():.0%} "
        statement = [
            textwrap.fill(line, width=88, subsequent_indent="  ")
            for line in self.statement.text.splitlines()
        ]
        return "\n".join(
            [
                f"{head}accepted, {self.statement.label}",
                "",
                *_table(self.summary()),
                "",
                *statement,
            ]
        )

    def __repr__(self) -> str:
        chains, draws = self.accepted.shape
        return (
            f"<Posterior: {chains} × {draws} draws of {', '.join(self.draws)}; "
            f"{self.statement.label}>"
        )


def _arviz() -> Any:
    """ArviZ, imported when first needed, without its daily announcement."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"\s*ArviZ is undergoing")
        import arviz  # noqa: PLC0415 - slow to import, so only where it is used
    return arviz


@contextmanager
def _quiet_arviz() -> Iterator[Any]:
    """ArviZ without its remarks on chains too short for a diagnostic."""
    az = _arviz()
    # A logger of its own, which logging.getLogger does not know.
    logger = getattr(az, "_log", logging.getLogger("arviz"))
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield az
    finally:
        logger.setLevel(before)


def _halves(posterior: Any) -> Any:
    """A single chain as two: its first half and its second."""
    half = posterior.sizes["draw"] // 2
    parts = [posterior.isel(draw=slice(start, start + half)) for start in (0, half)]
    named = [
        part.assign_coords(chain=[chain], draw=range(half))
        for chain, part in enumerate(parts)
    ]
    return xarray.concat(named, dim="chain")


def _table(summary: "pandas.DataFrame") -> list[str]:
    """The summary as aligned lines of text."""
    header = ["", "mean", "sd", "3%", "97%", "ess", "ess tail", "r-hat"]
    forms = [".4g"] * 4 + [".0f", ".0f", ".3f"]
    rows = [
        [
            str(name),
            *(format(value, form) for value, form in zip(row, forms, strict=True)),
        ]
        for name, *row in summary.itertuples()
    ]
    rows = [["–" if cell == "nan" else cell for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in [header, *rows]
    ]
