# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The posterior: draws with their privacy statement; ArviZ, and files."""

import hashlib
import json
import textwrap
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpmcmc.errors import InputError
from dpmcmc.model.labels import Names, axes_of, checked, require_fitting
from dpmcmc.posterior.statement import Statement
from dpmcmc.posterior.summary import arviz, remark, shapes_of_draws, summarise, table

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
    noise_aware
        The draws, each moved by as much as the noise in released control variates may
        have moved the posterior: what summaries and intervals are of. None where the
        run had no such noise.
    labels
        Names for the places of parameters, such as ``{"coefficients": ("age",
        "income")}``, as in `Model`: what summaries, pictures and reports call them.
        They are public, and may be changed at no cost:
        ``dataclasses.replace(posterior, labels={…})``.
    """

    draws: Draws
    accepted: np.ndarray
    warmup_draws: Draws
    warmup_accepted: np.ndarray
    statement: Statement
    settings: Mapping[str, str] = field(default_factory=dict)
    noise_aware: Draws | None = None
    labels: Mapping[str, Names] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", checked(self.labels))
        require_fitting(self.labels, shapes_of_draws(self.draws))

    @property
    def honest(self) -> Draws:
        """The draws that summaries are of: noise-aware where there are such."""
        return self.draws if self.noise_aware is None else self.noise_aware

    def summary(self) -> "pandas.DataFrame":
        """Mean, sd, 94% interval, effective sample size and R-hat of each parameter.

        The R-hat of a single chain compares its two halves. Where there are too few
        draws for a number, it is NaN. Where there are noise-aware draws, it is of
        those, but for sizes and R-hats, which are the chain's.
        """
        found = summarise(self.draws, self.labels)
        if self.noise_aware is not None:
            told = ["mean", "sd", "hdi_3%", "hdi_97%"]
            found[told] = summarise(self.noise_aware, self.labels)[told]
        return found

    def to_arviz(self) -> "InferenceData":
        """Convert to an ``InferenceData`` whose attributes carry the statement.

        Labels are the coordinates of axes, which are called ``coefficients_dim_0``:
        no parameter can have such a name.

        Where there are noise-aware draws they are its posterior, and the chain's own
        are in a group named ``chain``.
        """
        attributes = {
            "privacy": self.statement.label,
            "privacy_statement": self.statement.text,
            "dpmcmc_statement": self.statement.to_json(),
            "dpmcmc_settings": json.dumps(dict(self.settings)),
            "dpmcmc_parameters": json.dumps(list(self.draws)),
        }
        coordinates = {
            _axis(name, place): list(names)
            for name, given in self.labels.items()
            for place, names in enumerate(axes_of(given))
            if names is not None
        }
        groups = {
            "posterior": dict(self.honest),
            "sample_stats": {"accepted": self.accepted},
        }
        if self.warmup_accepted.shape[1]:
            groups["warmup_posterior"] = dict(self.warmup_draws)
            groups["warmup_sample_stats"] = {"accepted": self.warmup_accepted}
        with warnings.catch_warnings():
            # ArviZ remarks on chains shorter than they are many; ours may well be.
            warnings.simplefilter("ignore")
            data = arviz().from_dict(
                **groups,
                coords=coordinates,
                save_warmup=True,
                attrs=attributes,
                posterior_attrs=attributes,
                posterior_warmup_attrs=attributes,
                sample_stats_attrs=attributes,
                sample_stats_warmup_attrs=attributes,
            )
            if self.noise_aware is not None:
                plain = arviz().from_dict(
                    posterior=dict(self.draws),
                    coords=coordinates,
                    posterior_attrs=attributes,
                )
                data.add_groups({"chain": plain.posterior})
            return data

    def to_netcdf(self) -> bytes:
        """Draws and statement as the bytes of a netCDF file, a checksum at the end.

        They are made in memory: HDF5 can end the process when a disk is full. Readers
        of netCDF pass over what stands after the end.
        """
        import xarray  # noqa: PLC0415

        data = self.to_arviz()
        groups = {group: data[group] for group in data.groups()}
        tree = xarray.DataTree.from_dict(
            {"/": xarray.Dataset(attrs=data.attrs), **groups}
        )
        compressed = {
            f"/{group}": {name: {"zlib": True} for name in values.variables}
            for group, values in groups.items()
        }
        body = bytes(tree.to_netcdf(engine="h5netcdf", encoding=compressed))
        return body + _seal(body)

    def save(self, path: str | Path) -> None:
        """Write draws and statement to a netCDF file that `load` and ArviZ read.

        Raises
        ------
        InputError
            If the folder does not exist, or the file cannot be written. Nothing is
            lost: save again elsewhere.
        """
        folder = Path(path).absolute().parent
        if not folder.is_dir():
            raise InputError(
                f"there is no folder {folder}. Make it, or save elsewhere; the draws "
                "are still here."
            )
        data = self.to_netcdf()
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
        if not Path(path).is_file():
            raise InputError(f"there is no file {path}. Give a file that was saved.")
        try:
            _require_seal(Path(path).read_bytes())
            return cls._read(path)
        except Exception:  # whatever a damaged file may cause
            raise InputError(
                f"{path} is not a posterior that dpmcmc saved, or it is damaged. Give "
                "a file written by Posterior.save, or make it again from a copy."
            ) from None

    @classmethod
    def _read(cls, path: str | Path) -> "Posterior":
        data = arviz().from_netcdf(str(path), engine="h5netcdf")
        posterior, stats = data.posterior, data.sample_stats
        warm_up = getattr(data, "warmup_posterior", posterior.isel(draw=slice(0)))
        warm_stats = getattr(data, "warmup_sample_stats", stats.isel(draw=slice(0)))
        # The file sorts the parameters by name; θ may have another order.
        names = json.loads(data.attrs["dpmcmc_parameters"])
        chain = getattr(data, "chain", None)
        shown = {name: posterior[name].to_numpy() for name in names}
        return cls(
            draws=(
                shown
                if chain is None
                else {name: chain[name].to_numpy() for name in names}
            ),
            accepted=stats["accepted"].to_numpy().astype(bool),
            warmup_draws={name: warm_up[name].to_numpy() for name in names},
            warmup_accepted=warm_stats["accepted"].to_numpy().astype(bool),
            statement=Statement.from_json(data.attrs["dpmcmc_statement"]),
            settings=json.loads(data.attrs["dpmcmc_settings"]),
            noise_aware=None if chain is None else shown,
            labels=_labels_in(posterior, names),
        )

    def __str__(self) -> str:
        chains, draws = self.accepted.shape
        head = f"Posterior: {chains} × {draws:,} draws, {self.accepted.mean():.0%} "
        summary = self.summary()
        caution = remark(summary)
        words = [*([caution, ""] if caution else []), *self.statement.text.splitlines()]
        wrapped = [textwrap.fill(line, 88, subsequent_indent="  ") for line in words]
        return "\n".join(
            [
                f"{head}accepted, {self.statement.label}",
                "",
                *table(summary),
                "",
                *wrapped,
            ]
        )

    def __repr__(self) -> str:
        chains, draws = self.accepted.shape
        return (
            f"<Posterior: {chains} × {draws} draws of {', '.join(self.draws)}; "
            f"{self.statement.label}>"
        )


def _axis(parameter: str, place: int) -> str:
    """What ArviZ calls an axis of a parameter."""
    return f"{parameter}_dim_{place}"


def _labels_in(group: Any, parameters: list[str]) -> dict[str, Names]:
    """The labels in a group of a file: of axes that have texts for coordinates."""
    found: dict[str, Names] = {}
    for name in parameters:
        axes = [
            group[_axis(name, place)].to_numpy()
            for place in range(group[name].ndim - len(("chain", "draw")))
        ]
        named = tuple(
            None if axis.dtype.kind in "iu" else tuple(map(str, axis)) for axis in axes
        )
        if any(names is not None for names in named):
            found[name] = named
    return found


def _seal(body: bytes) -> bytes:
    """What stands at the end of a file, so that any damage is found."""
    return b"dpmcmc sha256 " + hashlib.sha256(body).hexdigest().encode()


def _require_seal(data: bytes) -> None:
    """Refuse a damaged file before HDF5 sees it, which may not survive it."""
    length = len(_seal(b""))
    if data[-length:] != _seal(data[:-length]):
        raise ValueError("the checksum does not fit")
