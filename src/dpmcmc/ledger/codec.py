# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Events as JSON and back, exactly; a closed list of kinds, and nothing else."""

import json
from collections.abc import Callable
from typing import Any

import attrs
from dp_accounting import dp_event
from dp_accounting.dp_event import DpEvent

from dpmcmc.accounting import (
    BarkerBit,
    GaussianBarkerBit,
    GaussianBatchSum,
    GaussianRelease,
    MinibatchBit,
)
from dpmcmc.errors import InputError
from dpmcmc.ledger.errors import LedgerError

__all__ = ["JSON", "canonical", "decode", "encode"]

JSON = dict[str, Any]

_KINDS: dict[str, type[DpEvent]] = {
    kind.__name__: kind
    for kind in (
        BarkerBit,
        GaussianBarkerBit,
        GaussianBatchSum,
        GaussianRelease,
        MinibatchBit,
        dp_event.GaussianDpEvent,
    )
}
_PLAIN: dict[Any, Callable[[Any], Any]] = {
    bool: bool,
    int: int,
    float: float,
    tuple[float, ...]: lambda numbers: [float(number) for number in numbers],
}
"""How a field of each type is written; numbers of NumPy become Python's."""


def encode(event: DpEvent) -> JSON:
    """Return an event as JSON values."""
    if type(event) is dp_event.NoOpDpEvent:
        return {"kind": "nothing"}
    if type(event) is dp_event.ComposedDpEvent:
        return {"kind": "all", "events": [encode(part) for part in event.events]}
    if type(event) is dp_event.SelfComposedDpEvent:
        return {
            "kind": "times",
            "count": int(event.count),
            "event": encode(event.event),
        }
    name = type(event).__name__
    if _KINDS.get(name) is not type(event):
        raise LedgerError(
            f"the event is {event!r}; a ledger holds only {', '.join(_KINDS)} and what "
            "is composed of them. Only events with a known cost can be charged."
        )
    fields = {
        field.name: _PLAIN[field.type](getattr(event, field.name))
        for field in attrs.fields(type(event))
    }
    return {"kind": name, **fields}


def decode(values: JSON) -> DpEvent:
    """Return the event that `encode` wrote."""
    try:
        return _decode(values)
    except (AttributeError, InputError, KeyError, TypeError, ValueError) as error:
        raise LedgerError(
            f"an entry of the ledger holds {str(values)[:80]!r}, which is no event "
            f"({type(error).__name__}). The ledger was edited, or written by another "
            "version; verify it."
        ) from None


def _decode(values: JSON) -> DpEvent:
    fields = dict(values)
    kind = fields.pop("kind")
    if kind == "nothing":
        return dp_event.NoOpDpEvent()
    if kind == "all":
        return dp_event.ComposedDpEvent([_decode(part) for part in fields["events"]])
    if kind == "times":
        return dp_event.SelfComposedDpEvent(_decode(fields["event"]), fields["count"])
    plain = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in fields.items()
    }
    return _KINDS[kind](**plain)


def canonical(values: JSON) -> str:
    """Return JSON text that is the same for the same values; floats keep every bit."""
    return json.dumps(values, sort_keys=True, separators=(",", ":"), allow_nan=False)
