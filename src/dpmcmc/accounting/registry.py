# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Events say what was released; accountants hold one rule for each type of event.

A rule turns one event, repeated a number of times, into a piece; the accountant
combines the pieces of all stages into one privacy curve. A new event is one file that
defines the event and registers its rules; nothing here changes.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from dpmcmc.errors import InputError, require_count

__all__ = [
    "ACCOUNTANTS",
    "Accountant",
    "Curve",
    "Event",
    "Leaves",
    "NotApplicableError",
    "Released",
    "UnsupportedEventError",
    "bit_slack",
    "flatten",
    "is_not_private",
    "require_supported",
    "total_slack",
]

Piece = TypeVar("Piece")


class UnsupportedEventError(InputError):
    """No accountant can price this event, so nothing can be said about it."""


class NotApplicableError(InputError):
    """One accountant's theorem does not cover this event; others may."""


class Event:
    """One release: every number that a proof of its privacy needs, and nothing else.

    The adjacency is the substitution of one record; the number of records is public.
    """

    def slack(self, epsilon: float) -> float:
        """What finite arithmetic may add to the δ of this ε; 0 if it is exact."""
        del epsilon
        return 0.0


Leaves = Mapping[Any, int]
"""Single events, each with the number of times that it happened."""

Released = Any
"""An `Event`, a mapping of events to counts, or a composed event of dp-accounting."""


def bit_slack(
    distance: float, epsilon: float, reach: float, rare: float = 0.0
) -> float:
    """Return what the rounding of one bit may add to the δ of an ε.

    Parameters
    ----------
    distance
        Total variation between the bit as computed and the ideal bit.
    epsilon
        The ε.
    reach, rare
        Ideal bits of ordered neighbours obey P(S) ≤ e^reach Q(S) + rare.

    Guarantee
    ---------
    For ordered neighbours with ideal bits P, Q and computed bits P̃, Q̃ there are bits
    P̂, Q̂ such that (P̂, Q̂) is dominated by (P, Q), and the total variation between P̂
    and P̃, and e^ε times that between Q̂ and Q̃, sum to at most the returned number.
    """
    # Beyond e^700, near the largest that float64 holds, nothing is claimed anyhow.
    both_sides = distance * (1 + math.exp(min(epsilon, 700.0)))
    one_side = distance * (1 + math.exp(min(reach, 700.0))) + rare
    return min(both_sides, one_side) * (1 + 1e-12)


class Curve(Protocol):
    """A privacy curve: upper bounds on δ for every ε ≥ 0, and the inverse."""

    def delta(self, epsilon: float) -> float:
        """Return a δ that is valid with this ε."""
        ...

    def epsilon(self, delta: float) -> float:
        """Return the smallest ε found that is valid with this δ; inf if none is."""
        ...


class Accountant(Generic[Piece]):
    """A method to price events, with one rule for each type of event it understands.

    Parameters
    ----------
    name, note
        What tables call it, and one line that says how it bounds the cost.
    combine
        Turns the pieces of all events into one privacy curve.
    certifies
        False if it quotes a bound as published, in real arithmetic: it is shown for
        comparison only.
    """

    def __init__(
        self,
        name: str,
        note: str,
        combine: Callable[[Sequence[Piece]], Curve],
        *,
        certifies: bool = True,
    ) -> None:
        self.name, self.note, self.certifies = name, note, certifies
        self._combine = combine
        self._rules: dict[type, Callable[[Any, int], Piece]] = {}
        ACCOUNTANTS[name] = self

    def rule(
        self, kind: type
    ) -> Callable[[Callable[[Any, int], Piece]], Callable[[Any, int], Piece]]:
        """Register how events of one type, repeated, become a piece."""

        def keep(function: Callable[[Any, int], Piece]) -> Callable[[Any, int], Piece]:
            self._rules[kind] = function
            return function

        return keep

    def supports(self, leaves: Leaves) -> bool:
        """Say whether every event has a rule here."""
        return all(type(event) in self._rules for event in leaves)

    def piece(self, event: Event, count: int) -> Piece:
        """Price one event, repeated, in the accountant's own terms."""
        return self._rules[type(event)](event, count)

    def curve(self, leaves: Leaves) -> Curve:
        """Price all events together.

        Guarantee
        ---------
        The released events, in any order and interleaved in any way that depends
        only on what was released before, satisfy every (ε, δ) of the curve in exact
        arithmetic; with what `total_slack` returns added to δ, as computed.
        """
        return self._combine([self.piece(e, count) for e, count in leaves.items()])


ACCOUNTANTS: dict[str, Accountant[Any]] = {}
"""Every accountant by its name, in the order of the table that a user sees."""


def total_slack(leaves: Leaves, epsilon: float) -> float:
    """Return what finite arithmetic adds to the δ of this ε in all.

    Guarantee
    ---------
    If the events satisfy (ε, δ) in exact arithmetic by any accountant, then the
    events as computed satisfy (ε, δ + the returned number).
    """
    return math.fsum(n * event.slack(epsilon) for event, n in leaves.items())


def require_supported(leaves: Leaves) -> None:
    """Refuse events for which no single accountant has all the rules."""
    if not any(a.certifies and a.supports(leaves) for a in ACCOUNTANTS.values()):
        unknown = [event for event in leaves if not isinstance(event, Event)]
        named = ", ".join(repr(event) for event in unknown or leaves)
        raise UnsupportedEventError(
            f"no accountant can price {named}; only events with registered rules have "
            "a known cost. Register the event with an accountant, or leave it out if "
            "it never read the records."
        )


def is_not_private(leaves: Leaves) -> bool:
    """Say whether one of the events is dp-accounting's `NonPrivateDpEvent`."""
    return any(_foreign_name(event) == "NonPrivateDpEvent" for event in leaves)


FOREIGN: dict[str, Callable[[Any], Event]] = {}
"""How single events of dp-accounting are read, by the name of their class."""


def flatten(released: Released) -> Counter[Any]:
    """Count the single events of what was released.

    Composed events of dp-accounting are known by the names of their classes, so that
    its import, which is slow, is left to those who use it.
    """
    leaves: Counter[Any] = Counter()
    for leaf, count in _unfold(released):
        if require_count("count", count, "Say how often it happened.", least=0):
            leaves[leaf] += count
    return leaves


def _unfold(released: Released) -> Iterable[tuple[Any, int]]:
    name = _foreign_name(released)
    if isinstance(released, Mapping):
        parts: Iterable[tuple[Any, int]] = released.items()
    elif name == "ComposedDpEvent":
        parts = ((part, 1) for part in released.events)
    elif name == "SelfComposedDpEvent":
        parts = ((released.event, released.count),)
    elif name == "NoOpDpEvent":
        parts = ()
    elif isinstance(released, Event) or name:
        yield FOREIGN[name](released) if name in FOREIGN else released, 1
        return
    else:
        raise UnsupportedEventError(
            f"event is {released!r}; it must be an event, a mapping of events to "
            "counts, or an event of dp-accounting. Name what was released by an event "
            "such as BarkerBit."
        )
    for part, times in parts:
        yield from ((leaf, count * times) for leaf, count in _unfold(part))


def _foreign_name(event: object) -> str:
    """Return the name of a class of dp-accounting, or nothing."""
    kind = type(event)
    return kind.__name__ if kind.__module__ == "dp_accounting.dp_event" else ""
