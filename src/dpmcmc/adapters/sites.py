# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Sites: what a NumPyro model is made of, found by tracing it with shapes alone."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from numpyro import distributions as dist
from numpyro import handlers

from dpmcmc.adapters.arguments import Bound, require_traceable
from dpmcmc.adapters.origins import Origin, origins
from dpmcmc.errors import InputError

__all__ = [
    "Message",
    "Outline",
    "Plate",
    "Site",
    "log_density",
    "log_density_shape",
    "outline",
    "require_size",
    "run",
    "support_of",
    "transform_of",
]

Message = dict[str, Any]
"""What NumPyro's trace keeps of a site."""


class Plate(NamedTuple):
    """A plate of a model, with its size as it was traced."""

    size: int
    is_subsampled: bool


class Site(NamedTuple):
    """A sample or deterministic site of a model, with its shapes as traced.

    Attributes
    ----------
    plates
        The names of the plates that it stands in.
    is_plain
        Whether it is neither masked nor scaled: what is drawn at the site then has
        the density that counts.
    choices
        How many values one draw can take; None if infinitely many.
    terms
        The shape of its log-densities, one for each independent entry.
    value, density
        The columns of the records that its value and its log-density depend on.
    """

    plates: frozenset[str]
    is_deterministic: bool
    is_observed: bool
    is_factor: bool
    is_discrete: bool
    is_plain: bool
    choices: int | None
    batch_shape: tuple[int, ...]
    shape: tuple[int, ...]
    terms: tuple[int, ...]
    value: Origin
    density: Origin


class Outline(NamedTuple):
    """All plates and sites of a model, by name, in the order it states them."""

    plates: Mapping[str, Plate]
    sites: Mapping[str, Site]


def run(
    bound: Bound,
    columns: Mapping[str, Any],
    value_of: Callable[[Message], Any],
    key: jax.Array | None = None,
    *,
    redraw: bool = False,
) -> dict[str, Message]:
    """Run a model on columns, and return its trace.

    Parameters
    ----------
    bound, columns
        The model and the arrays that it is called with.
    value_of
        The value of each latent site, or None if it is to be drawn.
    key
        The random key for the sites that are drawn.
    redraw
        Whether observed sites are drawn too.
    """

    def latent_value(site: Message) -> Any:
        is_latent = site["type"] == "sample" and not site["is_observed"]
        was_observed = is_latent and "was_observed" in site["infer"]
        return value_of(site) if is_latent and not was_observed else None

    model = handlers.uncondition(bound) if redraw else bound
    seeded = handlers.seed(model, rng_seed=key)
    given = handlers.substitute(seeded, substitute_fn=latent_value)
    return dict(handlers.trace(given).get_trace(columns))


def log_density(site: Message) -> jax.Array:
    """The log-density of a sample site, masked and scaled as the model says."""
    density = site["fn"].log_prob(site["value"])
    return density if site["scale"] is None else site["scale"] * density


def log_density_shape(site: Message) -> tuple[int, ...]:
    """The shape of `log_density`."""
    distribution, shape = site["fn"], jnp.shape(site["value"])
    entries = shape[: len(shape) - distribution.event_dim]
    return jnp.broadcast_shapes(distribution.batch_shape, entries)


def transform_of(site: Message) -> Any:
    """The bijection from the reals to the support of a continuous site."""
    return dist.transforms.biject_to(site["fn"].support)


def support_of(site: Message) -> jax.Array:
    """All values that one draw at a discrete site can take, along the first axis."""
    values = site["fn"].enumerate_support(expand=False)
    return jnp.reshape(values, (len(values), *site["fn"].event_shape))


def outline(bound: Bound, count: int, plate: str | None = None) -> Outline:
    """Trace a model with the shapes of ``count`` records, and list its sites.

    If it fails, and the plate of the records (or the only one) does not have their
    number as its size, the message says so.

    Raises
    ------
    InputError
        If the model cannot be traced, or uses something of NumPyro that cannot be
        run one record at a time.
    """
    traced = _Traced(bound)
    shapes = bound.shapes(count)
    failure = _failure(bound, traced, shapes)
    if failure:
        _require_size(traced.seen, count, plate)
        raise InputError(
            f"{failure} Sizes other than the number of records are public: bind them "
            "as whole numbers, with functools.partial."
        )
    _require_known_kinds(traced.seen)
    found = origins(traced, shapes)
    return Outline(
        plates=_plates(traced.seen),
        sites={name: _site(traced.seen[name], *found[name]) for name in found},
    )


class _Traced:
    """A model as a function of its columns, which keeps the sites it meets."""

    def __init__(self, bound: Bound) -> None:
        self._bound = bound
        self.seen: dict[str, Message] = {}

    def __call__(self, columns: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
        """Return the value and the log-density of each site."""
        with handlers.trace() as self.seen:  # kept even if the model fails
            trace = run(self._bound, columns, _middle, jax.random.key(0))
        return {
            name: (jnp.asarray(site["value"]), _total_density(site))
            for name, site in trace.items()
            if site["type"] in _KINDS
        }


def _failure(bound: Bound, traced: _Traced, shapes: Mapping[str, Any]) -> str | None:
    """What is wrong with a model that cannot be traced, in words."""
    try:
        require_traceable(bound, traced, shapes)
    except InputError as error:
        return str(error)
    return None


_KINDS = ("sample", "deterministic")


def _middle(site: Message) -> Any:
    """A value inside the support of a continuous site, which needs no draw."""
    if site["fn"].is_discrete:
        return None
    try:
        transform = transform_of(site)
    except NotImplementedError:
        raise NotImplementedError(
            f"the support of the site {site['name']!r} has no transform to real numbers"
        ) from None
    shape = site["fn"].shape(site["kwargs"]["sample_shape"])
    return transform(jnp.zeros(transform.inverse_shape(shape)))


def _total_density(site: Message) -> Any:
    if site["type"] == "deterministic":
        return 0.0
    density = jnp.sum(log_density(site))
    is_latent = not site["is_observed"] and not site["fn"].is_discrete
    # The value moves with the support: a support made of records shows by it.
    return density + jnp.sum(site["value"]) if is_latent else density


def _site(site: Message, value: Origin, density: Origin) -> Site:
    is_sample = site["type"] == "sample"
    distribution: Any = site["fn"] if is_sample else None
    is_discrete = is_sample and bool(distribution.is_discrete)
    return Site(
        plates=frozenset(frame.name for frame in site["cond_indep_stack"]),
        is_deterministic=not is_sample,
        is_observed=is_sample and site["is_observed"],
        is_factor=is_sample and isinstance(distribution, dist.Unit),
        is_discrete=is_discrete,
        is_plain=is_sample and site["scale"] is None and not _is_masked(distribution),
        choices=_choices(site) if is_discrete else None,
        batch_shape=tuple(distribution.batch_shape) if is_sample else (),
        shape=jnp.shape(site["value"]),
        terms=log_density_shape(site) if is_sample else (),
        value=value,
        density=density,
    )


def _is_masked(distribution: Any) -> bool:
    return isinstance(distribution, dist.MaskedDistribution)


def _choices(site: Message) -> int | None:
    """How many values a discrete site has, the same in any run; None if not finite."""
    try:
        return len(jax.eval_shape(lambda: support_of(site)))
    except Exception:  # NumPyro says in several ways that it cannot list them
        return None


def _plates(seen: Mapping[str, Message]) -> dict[str, Plate]:
    frames = {
        frame.name: Plate(frame.size, False)
        for site in seen.values()
        for frame in site.get("cond_indep_stack", ())
    }
    return frames | {
        name: Plate(site["args"][0], site["args"][1] not in (None, site["args"][0]))
        for name, site in seen.items()
        if site["type"] == "plate"
    }


def _require_known_kinds(seen: Mapping[str, Message]) -> None:
    for name, site in seen.items():
        if site["type"] in ("param", "mutable"):
            raise InputError(
                f"the model has the {site['type']} site {name!r}, which has no prior. "
                "Give it one with numpyro.sample, or make it a public argument."
            )
        if site.get("_control_flow_done"):
            raise InputError(
                f"the site {name!r} stands inside a NumPyro scan or cond, which cannot "
                "be run one record at a time. Write it with a plate, a Python loop, or "
                "a scan of jax.lax without sites."
            )


def _require_size(
    seen: Mapping[str, Message], count: int, records_plate: str | None
) -> None:
    for name, plate in _plates(seen).items():
        if name == records_plate or len(_plates(seen)) == 1:
            require_size(name, plate, count)


def require_size(name: str, plate: Plate, count: int) -> None:
    """Refuse a plate of records that does not have their number as its size."""
    if plate.size != count:
        raise InputError(
            f"the plate {name!r} has size {plate.size} when the model is given {count} "
            f"record{'s' if count > 1 else ''}. Its size must be their number, as the "
            "model is also run on one record alone. Write it as the length of a "
            "column, such as x.shape[0]."
        )
