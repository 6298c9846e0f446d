# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A posterior as ArviZ data, and as a netCDF file with a checksum at its end."""

import hashlib
import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpmcmc.errors import InputError
from dpmcmc.posterior.posterior import Posterior
from dpmcmc.posterior.statement import Statement

if TYPE_CHECKING:
    from arviz import InferenceData

__all__ = ["arviz", "from_netcdf", "to_arviz", "to_netcdf"]


def to_arviz(
    posterior: Posterior, predicted: Mapping[str, Mapping[str, np.ndarray]] = {}
) -> "InferenceData":
    """As `Posterior.to_arviz`; ``predicted`` are further groups."""
    statement = posterior.statement
    attributes = {
        "privacy": statement.label,
        "privacy_statement": "\n".join(statement.lines),
        "dpmcmc_statement": statement.to_json(),
        "dpmcmc_settings": json.dumps(dict(posterior.settings)),
        "dpmcmc_parameters": json.dumps(list(posterior.draws)),
        "dpmcmc_names": json.dumps([posterior.coords, posterior.dims]),
        "dpmcmc_declared": json.dumps(posterior.declared),
    }
    groups = {
        "posterior": dict(posterior.draws),
        "sample_stats": {"accepted": posterior.accepted},
    }
    if posterior.warmup_accepted.shape[1]:
        groups["warmup_posterior"] = dict(posterior.warmup_draws)
        groups["warmup_sample_stats"] = {"accepted": posterior.warmup_accepted}
    names = {"coords": posterior.coords, "dims": _arviz_dims(posterior)}
    with warnings.catch_warnings():
        # ArviZ remarks on chains shorter than they are many; ours may well be.
        warnings.simplefilter("ignore")
        data = arviz().from_dict(
            **groups,
            **names,
            save_warmup=True,
            attrs=attributes,
            posterior_attrs=attributes,
            posterior_warmup_attrs=attributes,
            sample_stats_attrs=attributes,
            sample_stats_warmup_attrs=attributes,
        )
        if posterior.is_noise_aware:
            own = arviz().from_dict(
                posterior=dict(posterior.chain_draws),
                **names,
                posterior_attrs=attributes,
            )
            data.add_groups({"chain": own.posterior})
        for name, draws in predicted.items():
            made = arviz().from_dict(posterior=dict(draws), posterior_attrs=attributes)
            data.add_groups({name: made.posterior})
        return data


def to_netcdf(posterior: Posterior) -> bytes:
    """Draws and statement as the bytes of a netCDF file, a checksum at the end.

    The bytes follow from the posterior alone: the time of day is not among them.
    They are made in memory: HDF5 can end the process when a disk is full. Readers of
    netCDF pass over what stands after the end.
    """
    import xarray  # noqa: PLC0415 - slow to import

    data = to_arviz(posterior)
    groups = {group: _without_time(data[group]) for group in data.groups()}
    root = _without_time(xarray.Dataset(attrs=data.attrs))
    tree = xarray.DataTree.from_dict({"/": root, **groups})
    compressed = {
        f"/{group}": {name: {"zlib": True} for name in values.variables}
        for group, values in groups.items()
    }
    body = bytes(tree.to_netcdf(engine="h5netcdf", encoding=compressed))
    return body + _checksum(body)


def _without_time(group: Any) -> Any:
    """A group without the time at which ArviZ made it."""
    kept = {name: one for name, one in group.attrs.items() if name != "created_at"}
    return group.drop_attrs(deep=False).assign_attrs(kept)


def from_netcdf(path: str | Path) -> Posterior:
    """As `Posterior.load`."""
    if not Path(path).is_file():
        raise InputError(f"there is no file {path}. Give a file that was saved.")
    try:
        _require_checksum(Path(path).read_bytes())
        return _read(arviz().from_netcdf(str(path), engine="h5netcdf"))
    except Exception:  # whatever a damaged file may cause
        raise InputError(
            f"{path} is not a posterior that dpmcmc saved, or it is damaged. Give a "
            "file written by Posterior.save, or make it again from a copy."
        ) from None


def _read(data: Any) -> Posterior:
    posterior, stats = data.posterior, data.sample_stats
    warmup = getattr(data, "warmup_posterior", posterior.isel(draw=slice(0)))
    warmup_stats = getattr(data, "warmup_sample_stats", stats.isel(draw=slice(0)))
    # The file sorts the parameters by name; θ may have another order.
    names = json.loads(data.attrs["dpmcmc_parameters"])
    coords, dims = json.loads(data.attrs["dpmcmc_names"])

    def arrays(group: Any) -> dict[str, np.ndarray]:
        return {name: group[name].to_numpy() for name in names}

    draws = arrays(posterior)
    return Posterior(
        draws=draws,
        accepted=stats["accepted"].to_numpy().astype(bool),
        statement=Statement.from_json(data.attrs["dpmcmc_statement"]),
        chain_draws=arrays(data.chain) if hasattr(data, "chain") else draws,
        warmup_draws=arrays(warmup),
        warmup_accepted=warmup_stats["accepted"].to_numpy().astype(bool),
        settings=json.loads(data.attrs["dpmcmc_settings"]),
        coords=coords,
        dims=dims,
        declared=json.loads(data.attrs.get("dpmcmc_declared", "null")),
    )


def _arviz_dims(posterior: Posterior) -> dict[str, list[str]]:
    """ArviZ's names of all axes: its own for those that are numbered."""
    return {
        name: [dim or f"{name}_dim_{axis}" for axis, dim in enumerate(dims)]
        for name, dims in posterior.dims.items()
    }


def _checksum(body: bytes) -> bytes:
    """What stands at the end of a file, so that any damage is found."""
    return b"dpmcmc sha256 " + hashlib.sha256(body).hexdigest().encode()


def _require_checksum(data: bytes) -> None:
    """Refuse a damaged file before HDF5 sees it, which may not survive it."""
    length = len(_checksum(b""))
    if data[-length:] != _checksum(data[:-length]):
        raise ValueError("the checksum does not fit")


def arviz() -> Any:
    """ArviZ, imported when first needed, without its daily announcement."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"\s*ArviZ is undergoing")
        import arviz as az  # noqa: PLC0415 - slow to import, so only where it is used
    return az
