# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Which accountants exist, and which events each of them can price.

An accountant has a rule for each type of event that it understands. A rule turns one
event, repeated a number of times, into a piece; the accountant combines the pieces
of all stages into one privacy curve. A new event is one file that defines the event
and registers its rules; nothing here changes.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from dp_accounting import dp_event

from dpmcmc.errors import InputError, require_count

__all__ = [
    "ACCOUNTANTS",
    "Accountant",
    "Curve",
    "Leaves",
    "NotApplicableError",
    "UnsupportedEventError",
    "flatten",
    "require_supported",
    "slack_rule",
    "total_slack",
]

Piece = TypeVar("Piece")
Leaves = Mapping[dp_event.DpEvent, int]
"""The released events, each with the number of times that it happened."""

ACCOUNTANTS: dict[str, "Accountant[Any]"] = {}
"""Every accountant by its name, in the order of the table that a user sees."""

_SLACK: dict[type[dp_event.DpEvent], Callable[[Any], float]] = {}


class UnsupportedEventError(InputError):
    """No accountant can price this event, so nothing can be said about it."""


class NotApplicableError(InputError):
    """One accountant's theorem does not cover this event; others may."""


class Curve(Protocol):
    """A privacy curve: upper bounds on δ for every ε, and the inverse."""

    def delta(self, epsilon: float) -> float:
        """Return a δ that is valid with this ε."""
        ...

    def epsilon(self, delta: float) -> float:
        """Return the smallest ε found that is valid with this δ; inf if none is."""
        ...


class Accountant(Generic[Piece]):
    """A way to price events, with one rule for each type of event it understands.

    Parameters
    ----------
    name
        What tables call it.
    note
        One line that says how it bounds the cost.
    combine
        Turns the pieces of all events into one privacy curve.
    sharp
        False if another accountant is never above this one; searches skip it.
    charged
        False if it quotes a bound as published, in real arithmetic: it is shown for
        comparison and certifies nothing.
    """

    def __init__(
        self,
        name: str,
        note: str,
        combine: Callable[[Sequence[Piece]], Curve],
        *,
        sharp: bool = True,
        charged: bool = True,
    ) -> None:
        self.name = name
        self.note = note
        self.sharp = sharp and charged
        self.charged = charged
        self._combine = combine
        self._rules: dict[type[dp_event.DpEvent], Callable[[Any, int], Piece]] = {}
        ACCOUNTANTS[name] = self

    def rule(
        self, kind: type[dp_event.DpEvent]
    ) -> Callable[[Callable[[Any, int], Piece]], Callable[[Any, int], Piece]]:
        """Register how events of one type, repeated, become a piece."""

        def keep(function: Callable[[Any, int], Piece]) -> Callable[[Any, int], Piece]:
            self._rules[kind] = function
            return function

        return keep

    def supports(self, leaves: Leaves) -> bool:
        """Say whether every event has a rule here."""
        return all(type(event) in self._rules for event in leaves)

    def piece(self, event: dp_event.DpEvent, count: int) -> Piece:
        """Price one event, repeated, in the accountant's own terms."""
        return self._rules[type(event)](event, count)

    def curve(self, leaves: Leaves) -> Curve:
        """Price all events together.

        Guarantee
        ---------
        The released events, in any order and interleaved in any way that depends
        only on what was released before, satisfy every (ε, δ) of the curve, up to
        the finite-arithmetic slack that ``total_slack`` reports.
        """
        return self._combine([self.piece(e, count) for e, count in leaves.items()])


def slack_rule(
    kind: type[dp_event.DpEvent],
) -> Callable[[Callable[[Any], float]], Callable[[Any], float]]:
    """Register the total variation between an event as computed and as proved."""

    def keep(function: Callable[[Any], float]) -> Callable[[Any], float]:
        _SLACK[kind] = function
        return function

    return keep


def total_slack(leaves: Leaves) -> float:
    """Return the total variation between the released law and the proved one.

    Guarantee
    ---------
    Total variation adds over steps, so the returned τ bounds the distance of the
    whole release from its ideal, for every data set. An (ε, δ) of the ideal becomes
    (ε, δ + (1 + e^ε) τ).
    """
    return sum(count * _SLACK[type(event)](event) for event, count in leaves.items())


def require_supported(leaves: Leaves) -> None:
    """Refuse events for which no single accountant has all the rules."""
    usable = [a for a in ACCOUNTANTS.values() if a.charged and a.supports(leaves)]
    if usable and all(type(event) in _SLACK for event in leaves):
        return
    unknown = [event for event in leaves if type(event) not in _SLACK]
    named = ", ".join(repr(event) for event in unknown or leaves)
    raise UnsupportedEventError(
        f"no accountant can price {named}; only events with registered rules have a "
        "known cost. Register the event with an accountant, or leave it out of the "
        "composed event if it never read the records."
    )


def flatten(event: dp_event.DpEvent) -> Counter[dp_event.DpEvent]:
    """Count the single events inside a composed one."""
    leaves: Counter[dp_event.DpEvent] = Counter()
    for leaf, count in _unfold(event):
        if count:
            leaves[leaf] += count
    return leaves


def _unfold(event: dp_event.DpEvent) -> Iterable[tuple[dp_event.DpEvent, int]]:
    return _STRUCTURE.get(type(event), _leaf)(event)


def _leaf(event: dp_event.DpEvent) -> Iterable[tuple[dp_event.DpEvent, int]]:
    if not isinstance(event, dp_event.DpEvent):
        raise UnsupportedEventError(
            f"event is {event!r}; it must be a dp-accounting event. Wrap what was "
            "released in one, such as BarkerBit."
        )
    yield event, 1


def _nothing(_: dp_event.NoOpDpEvent) -> Iterable[tuple[dp_event.DpEvent, int]]:
    return ()


def _composed(
    event: dp_event.ComposedDpEvent,
) -> Iterable[tuple[dp_event.DpEvent, int]]:
    for part in event.events:
        yield from _unfold(part)


def _repeated(
    event: dp_event.SelfComposedDpEvent,
) -> Iterable[tuple[dp_event.DpEvent, int]]:
    times = require_count(
        "count", event.count, "Say how often the event happened.", least=0
    )
    for leaf, count in _unfold(event.event):
        yield leaf, times * count


_STRUCTURE: dict[
    type[dp_event.DpEvent],
    Callable[[Any], Iterable[tuple[dp_event.DpEvent, int]]],
] = {
    dp_event.NoOpDpEvent: _nothing,
    dp_event.ComposedDpEvent: _composed,
    dp_event.SelfComposedDpEvent: _repeated,
}
