# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Events as JSON and back, exactly: the events of accounting, and nothing else."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import attrs
from dp_accounting.dp_event import (
    ComposedDpEvent,
    DpEvent,
    GaussianDpEvent,
    SelfComposedDpEvent,
)

from dpmcmc import accounting
from dpmcmc.accounting.registry import flatten
from dpmcmc.errors import InputError
from dpmcmc.ledger.errors import LedgerError

__all__ = ["JSON", "canonical", "composed", "decode", "encode"]

JSON = dict[str, Any]

_EXPORTED = {name: getattr(accounting, name) for name in accounting.__all__}
_KINDS: dict[str, type[DpEvent]] = {
    **{name: kind for name, kind in _EXPORTED.items() if attrs.has(kind)},
    "GaussianDpEvent": GaussianDpEvent,
}
_PLAIN: dict[Any, Callable[[Any], Any]] = {
    bool: bool,
    int: int,
    float: float,
    tuple[float, ...]: lambda numbers: [float(number) for number in numbers],
}
"""How a field of each type is written; numbers of NumPy become Python's."""


def encode(event: DpEvent) -> list[JSON]:
    """Return the single events of an event, and how often each happens, as JSON."""
    return [
        {"kind": type(leaf).__name__, "count": int(count), "fields": _fields(leaf)}
        for leaf, count in flatten(event).items()
    ]


def decode(values: list[JSON]) -> DpEvent:
    """Return an event with the single events that `encode` wrote."""
    leaves = Counter[DpEvent]()
    try:
        for each in values:
            leaves[_single(each)] += int(each["count"])
        return composed(leaves)
    except (AttributeError, InputError, KeyError, TypeError, ValueError) as error:
        raise LedgerError(
            f"an entry of the ledger holds {str(values)[:80]!r}, which is no event "
            f"({type(error).__name__}). The ledger was edited, or written by another "
            "version; verify it."
        ) from None


def composed(leaves: Mapping[DpEvent, int]) -> DpEvent:
    """Return one event that is composed of single events."""
    parts = [
        leaf if count == 1 else SelfComposedDpEvent(leaf, count)
        for leaf, count in leaves.items()
    ]
    return parts[0] if len(parts) == 1 else ComposedDpEvent(parts)


def canonical(values: Any) -> str:
    """Return JSON text that is the same for the same values; floats keep every bit."""
    return json.dumps(values, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _fields(event: DpEvent) -> JSON:
    kind = type(event)
    if _KINDS.get(kind.__name__) is not kind:
        raise LedgerError(
            f"the event is {event!r}; a ledger holds only {', '.join(_KINDS)} and what "
            "is composed of them. Only events with a known cost can be charged."
        )
    return {
        field.name: _PLAIN[field.type](getattr(event, field.name))
        for field in attrs.fields(kind)
    }


def _single(values: JSON) -> DpEvent:
    plain = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in values["fields"].items()
    }
    return _KINDS[values["kind"]](**plain)
