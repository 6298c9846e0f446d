# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Events as JSON and back, exactly: the events of accounting, and nothing else."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from dpmcmc import accounting
from dpmcmc.accounting import Event
from dpmcmc.accounting.registry import flatten
from dpmcmc.errors import InputError
from dpmcmc.ledger.refusals import LedgerError

__all__ = ["JSON", "Events", "canonical", "decode", "encode"]

JSON = dict[str, Any]

Events = Mapping[Event, int]
"""What is released: each event, and how often it happens."""

_KINDS: dict[str, Any] = {
    name: kind
    for name in accounting.__all__
    if isinstance(kind := getattr(accounting, name), type)
    and issubclass(kind, Event)
    and kind is not Event
}
_PLAIN: dict[Any, Callable[[Any], Any]] = {
    bool: bool,
    int: int,
    float: float,
    tuple[float, ...]: lambda numbers: [float(number) for number in numbers],
}
"""How a field of each type is written; numbers of NumPy become Python's."""


def encode(events: Events) -> list[JSON]:
    """Return events, and how often each happens, as JSON."""
    return [
        {"kind": type(event).__name__, "count": int(count), "fields": _fields(event)}
        for event, count in flatten(events).items()
    ]


def decode(values: list[JSON]) -> Counter[Event]:
    """Return the events that `encode` wrote."""
    try:
        return flatten(_counted(values))
    except (AttributeError, InputError, KeyError, TypeError, ValueError) as error:
        raise LedgerError(
            f"an entry of the ledger holds {str(values)[:80]!r}, which is no event "
            f"({type(error).__name__}). The ledger was edited, or written by another "
            "version; verify it."
        ) from None


def canonical(values: Any) -> str:
    """Return JSON text that is the same for the same values; floats keep every bit."""
    return json.dumps(values, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _fields(event: Event) -> JSON:
    kind = type(event)
    if kind is not _KINDS.get(kind.__name__):
        raise LedgerError(
            f"the event is {event!r}; a ledger holds only {', '.join(_KINDS)}. Only "
            "events with a known cost can be charged."
        )
    return {
        field.name: _PLAIN[field.type](getattr(event, field.name))
        for field in fields(_KINDS[kind.__name__])
    }


def _counted(values: list[JSON]) -> Counter[Event]:
    events = Counter[Event]()
    for each in values:
        plain = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in each["fields"].items()
        }
        events[_KINDS[each["kind"]](**plain)] += each["count"]
    return events
