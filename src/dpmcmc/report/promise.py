# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What (ε, δ) means for one person: ε as odds, rounded against ourselves.

By Bayes' rule, what is released multiplies the odds of any guess about one record (or
unit of records) by at most exp(ε), if δ is 0. If it is not, what is released tells a
reader no more than this: with probability δ the whole record, and otherwise something
that multiplies the odds by at most exp(ε). For any two (ε, δ)-indistinguishable
distributions can be made, without the records, from a pair of that kind (Kairouz, Oh
and Viswanath 2015).
"""

import math
from collections.abc import Callable

from dpmcmc.posterior.statement import Statement, round_up
from dpmcmc.report.elements import Html, bar, each, fill, paragraph, read, table

__all__ = ["in_a_sentence", "odds_factor", "of_a_group", "one_in", "promise", "sure"]

_GUESSES, _GROUPS = (0.01, 0.1, 0.5, 0.9), (1, 2, 5, 10)
_LARGE = 3.0
"""An ε above which the promise says little."""

_SEVERAL = "People with several records, and groups."
_ALL_RECORDS = "Groups of units."
_SETTINGS = "The model, the bounds and every setting are public."
_ANY_CHANGE = "added, removed or replaced by any other"
_NO_PROMISE = 0.01
"""A δ above which there is no promise to speak of."""


def promise(statement: Statement) -> Html:
    """What is promised to a person in the records, or that nothing is."""
    notes = each("<li>$a</li>", ([_begun(note)] for note in statement.notes))
    common = {
        "counted": statement.counted,
        "one": statement.one,
        "remarks": Html(f"<h3>Remarks</h3>\n<ul>{notes}</ul>" if notes else ""),
    }
    if not statement.is_private:
        reasons = "; and ".join(statement.not_private_because)
        return fill(read("no_promise.html"), reasons=reasons, **common)
    epsilon, delta = statement.epsilon, statement.delta
    weak = f"An ε of {round_up(epsilon)} is large: against the best reader the promise "
    return fill(
        read("promise.html"),
        changed=_ANY_CHANGE if statement.hides_number else "replaced by any other",
        public=_SETTINGS
        if statement.hides_number
        else f"The number of {statement.one}s, {_SETTINGS[0].lower()}{_SETTINGS[1:]}",
        several=_SEVERAL if statement.unit is None else _ALL_RECORDS,
        factor=odds_factor(epsilon),
        delta=one_in(delta),
        weak=paragraph(f"{weak}says little.", "care") if epsilon > _LARGE else Html(),
        guesses=table(
            f"What a reader can learn about one {statement.one} "
            f"(ε = {round_up(epsilon)})",
            ["Sure before", "Sure after, at most", "The difference"],
            [_guess(guess, epsilon) for guess in _GUESSES],
            "bars",
        ),
        groups=table(
            "A group"
            if statement.unit
            else "A person with several records, or a group",
            [
                f"{statement.one.title()}s",
                "ε",
                "Except with probability",
                "A 50% guess becomes at most",
            ],
            [_group(count, epsilon, delta) for count in _GROUPS],
            "numbers",
        ),
        **common,
    )


def in_a_sentence(statement: Statement) -> str:
    """What is promised, for a reader of one sentence."""
    if not statement.is_private:
        return (
            "This result is NOT PRIVATE: it may show what single records hold. Do not "
            f"pass it on if the {statement.counted} are sensitive."
        )
    return (
        f"The result is private{', but weakly' * (statement.epsilon > _LARGE)}. A "
        "reader who is 50% sure of a guess about one of the "
        f"{statement.counted} can be at most "
        f"{_percent(sure(0.5, statement.epsilon))} sure after reading it, except with "
        f"a probability of at most {one_in(statement.delta)}."
    )


def sure(guess: float, epsilon: float) -> float:
    """The most that a guess of p can become: p exp(ε) / (1 − p + p exp(ε))."""
    log_odds = math.log(guess / (1 - guess)) + epsilon
    return 1 / (1 + math.exp(-log_odds)) if log_odds < 36 else 1.0


def of_a_group(count: int, epsilon: float, delta: float) -> tuple[float, float]:
    """What k records together are promised: (kε, k exp((k − 1) ε) δ)."""
    exponent = min((count - 1) * epsilon, 700.0)
    return count * epsilon, min(count * math.exp(exponent) * delta, 1.0)


def odds_factor(epsilon: float) -> str:
    """The factor exp(ε), never less than it is."""
    if epsilon > 14:
        return f"e to the power of {round_up(epsilon)}"
    return _rounded(math.exp(epsilon), 3, math.ceil)


def one_in(delta: float) -> str:
    """A small probability in words, never less than it is."""
    if not 0 < delta < 0.1:
        return round_up(delta)
    # A millionth is one in a million, though its float is not exactly.
    return f"one in {_rounded((1 + 1e-12) / delta, 4, math.floor)}"


def _rounded(value: float, digits: int, towards: Callable[[float], int]) -> str:
    unit = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    return f"{towards(value / unit) * unit:,.15g}"


def _percent(probability: float) -> str:
    shown = math.ceil(probability * 1000) / 10
    return f"{shown:g}%" if shown < 100 else "nearly 100%"


def _begun(note: str) -> str:
    """A note as a sentence of its own; a first letter that is a symbol stays."""
    return note[:1].upper() + note[1:] if note[:1].isascii() else note


def _guess(guess: float, epsilon: float) -> list[str]:
    after = sure(guess, epsilon)
    words = f"{guess:.0%}", _percent(after)
    parts = [("spent", guess), ("gained", after - guess)]
    return [*words, bar(parts, "From {} to at most {}".format(*words))]


def _group(count: int, epsilon: float, delta: float) -> list[str]:
    together, wider = of_a_group(count, epsilon, delta)
    if wider > _NO_PROMISE:
        return [str(count), "–", "–", "no promise"]
    after = _percent(sure(0.5, together))
    return [str(count), round_up(together), one_in(wider), after]
