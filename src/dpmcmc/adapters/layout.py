# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Layout: the plate of the records, and what each site of a model is to them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from dpmcmc.adapters.arguments import Bound, listed
from dpmcmc.adapters.refusals import absent, require_public
from dpmcmc.adapters.sites import Outline, Site, outline, require_size
from dpmcmc.errors import InputError

__all__ = ["Layout", "combinations", "lay_out"]

_MOST_COMBINATIONS = 4096
"""Most joint values of one record's discrete latents that are summed over."""


@dataclass(frozen=True)
class Layout:
    """The parts of a model, as its records see them.

    Attributes
    ----------
    plate
        The plate of the records.
    latents
        The latent sites outside it: the parameters, as traced with all records.
    hidden
        The discrete latent sites inside it, as traced with one record.
    shown
        The deterministic sites that hold no value of a record.
    observed
        The column that each observed site in the plate reads, as it is; None if some
        site reads something else, so that a record cannot be drawn.
    has_prior_distribution
        Whether the prior is what the latent sites draw: no factor, mask or scale
        stands outside the plate.
    """

    plate: str
    latents: Mapping[str, Site]
    hidden: Mapping[str, Site]
    shown: tuple[str, ...]
    observed: Mapping[str, str] | None
    has_prior_distribution: bool


def lay_out(bound: Bound, count: int, plate: str | None) -> Layout:
    """Find the plate of the records, and refuse a model that cannot be run by record.

    The model is traced with the shapes of all records, of one, and of two: whatever
    has one entry for each record shows by its shape.

    Parameters
    ----------
    bound
        The model and its columns.
    count
        The number of records.
    plate
        The name of the plate of the records; found unless given.

    Raises
    ------
    InputError
        If there is no such plate, or a site does not fit to it.
    """
    whole = outline(bound, count, plate)
    chosen = _named(whole, plate) if plate else _found(whole, bound, count)
    _require_observed(whole, bound, chosen)
    require_size(chosen, whole.plates[chosen], count)
    few = [_few(bound, size, chosen, whole) for size in (1, 2)]
    _require_no_subsampling(whole)
    for name, site in whole.sites.items():
        if chosen in site.plates:
            _require_finite(name, site, bound)
        elif not site.is_deterministic:
            _require_same_shape(name, [part.sites[name] for part in (whole, *few)])
            require_public(name, site.density.names, f"plate {chosen!r}")
    outside = _outside(whole, chosen)
    hidden = {
        name: site for name, site in few[0].sites.items() if _is_hidden(site, chosen)
    }
    _require_few_combinations(hidden)
    latents = {name: site for name, site in outside.items() if _is_latent(site)}
    if not latents:
        raise InputError(
            "the model has no latent site outside the plate of the records; there is "
            "no parameter to draw. Give at least one a prior with numpyro.sample."
        )
    return Layout(
        plate=chosen,
        latents=latents,
        hidden=hidden,
        shown=tuple(
            name
            for name, site in outside.items()
            if site.is_deterministic
            and not site.value.names
            and len({part.sites[name].shape for part in (whole, *few)}) == 1
        ),
        observed=_observed_columns(whole, chosen),
        has_prior_distribution=all(
            site.is_plain and not site.is_observed
            for site in outside.values()
            if not site.is_deterministic
        ),
    )


def combinations(hidden: Mapping[str, Site]) -> list[int]:
    """How many values each entry of the discrete latents of one record can take."""
    return [
        site.choices or 0
        for site in hidden.values()
        for _ in range(math.prod(site.batch_shape))
    ]


def _outside(whole: Outline, plate: str) -> dict[str, Site]:
    return {
        name: site for name, site in whole.sites.items() if plate not in site.plates
    }


def _is_latent(site: Site) -> bool:
    return not site.is_deterministic and not site.is_observed


def _is_hidden(site: Site, plate: str) -> bool:
    return _is_latent(site) and plate in site.plates


def _of_records(whole: Outline) -> dict[str, Site]:
    """Observed sites whose density depends on the records; a factor may be one."""
    return {
        name: site
        for name, site in whole.sites.items()
        if site.is_observed and site.density.names
    }


def _named(whole: Outline, plate: str) -> str:
    if plate not in whole.plates:
        raise InputError(
            f"plate is {plate!r}; the model has {listed(whole.plates, 'no plate')}. "
            "Give the name of the plate that holds the records."
        )
    return plate


def _found(whole: Outline, bound: Bound, count: int) -> str:
    """The one plate that holds all observed sites, and is as large as the records."""
    observed = _of_records(whole)
    if not observed:
        raise InputError(_no_observed(bound))
    held = frozenset.intersection(*[site.plates for site in observed.values()])
    if not held:
        bare = [name for name, site in observed.items() if not site.plates]
        outside = f"; {listed(bare)} stands in none" if bare else ""
        raise InputError(
            f"no plate holds all observed sites ({listed(observed)}){outside}. One "
            "must, unless all stand in none and have one log-density for each record "
            "along the first axis: records are independent given the parameters. "
            "Write the sites inside \"with numpyro.plate('records', y.shape[0]):\", "
            "with y a column."
        )
    fitting = [name for name in held if whole.plates[name].size == count]
    if len(fitting) > 1 or (not fitting and len(held) > 1):
        raise InputError(
            f"the plates {listed(sorted(held))} all hold the observed sites; which "
            "one is that of the records is not clear. Name it with plate=."
        )
    return fitting[0] if fitting else next(iter(held))


def _require_observed(whole: Outline, bound: Bound, plate: str) -> None:
    observed = _of_records(whole)
    if not observed:
        raise InputError(_no_observed(bound))
    for name, site in observed.items():
        if plate not in site.plates:
            kind = "factor" if site.is_factor else "observed site"
            raise InputError(
                f"the {kind} {name!r} reads the records ({listed(_columns(site))}), "
                f"but stands outside their plate {plate!r}. Move it into the plate, "
                "so that it has one term for each record."
            )


def _no_observed(bound: Bound) -> str:
    return (
        f"the model has no observed site that reads the records.{absent(bound)} Pass a "
        "column as obs to numpyro.sample, with one entry for each record."
    )


def _few(bound: Bound, size: int, plate: str, whole: Outline) -> Outline:
    """The model traced with a few of the records, and found to be the same."""
    part = outline(bound, size, plate)
    _require_same_sites(whole, part, size)
    require_size(plate, part.plates[plate], size)
    return part


def _require_same_sites(whole: Outline, part: Outline, size: int) -> None:
    unlike = {*whole.sites, *whole.plates} ^ {*part.sites, *part.plates}
    if unlike:
        raise InputError(
            f"the model has other sites or plates ({listed(sorted(unlike))}) when it "
            f"is given {size} of the records; they must not depend on how many there "
            "are, since the model is run on one record at a time."
        )


def _require_no_subsampling(whole: Outline) -> None:
    for name, plate in whole.plates.items():
        if plate.is_subsampled:
            raise InputError(
                f"the plate {name!r} is subsampled (subsample_size); it must hold all "
                "its entries. Leave subsample_size out: for a step on few records, "
                "choose dpmcmc.MinibatchBarker."
            )


def _require_finite(name: str, site: Site, bound: Bound) -> None:
    if not _is_latent(site):
        return
    if not site.is_discrete:
        raise InputError(
            f"the site {name!r} is a continuous latent inside the plate of the "
            "records: one for each record, so that each step would have to release a "
            "value for each record. Marginalise it: observe a distribution from which "
            "it is integrated out, such as dist.StudentT for a normal of latent scale, "
            f"or dist.NegativeBinomial2 for a Poisson of latent rate.{absent(bound)}"
        )
    if site.choices is None:
        raise InputError(
            f"the site {name!r} is a discrete latent inside the plate of the records "
            "whose values cannot be listed; they are summed over, so there must be "
            "finitely many, the same for each record. Truncate it to a Categorical, "
            "or marginalise it by hand."
        )


def _require_same_shape(name: str, traced: list[Site]) -> None:
    if len({site.shape for site in traced}) > 1:
        raise InputError(
            f"the site {name!r} has shape {traced[0].shape}, which changes with the "
            "number of records: each step would have to release a value for each "
            "record. Marginalise it, or give it a public size."
        )


def _require_few_combinations(hidden: Mapping[str, Site]) -> None:
    number = math.prod(combinations(hidden))
    if number > _MOST_COMBINATIONS:
        raise InputError(
            f"the discrete latents of one record ({listed(hidden)}) take {number:,} "
            f"values together; they are all summed over, so at most "
            f"{_MOST_COMBINATIONS:,} are allowed. Marginalise some by hand, for "
            "instance with dist.MixtureSameFamily."
        )


def _observed_columns(whole: Outline, plate: str) -> dict[str, str] | None:
    inside = {name: site for name, site in whole.sites.items() if plate in site.plates}
    columns = {
        name: site.value.copy_of for name, site in inside.items() if site.is_observed
    }
    if None in columns.values():
        return None
    return {name: column for name, column in columns.items() if column}


def _columns(site: Site) -> list[str]:
    return sorted(site.density.names)
