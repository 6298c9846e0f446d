# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What the guarantee means in plain words, and its limits."""

import math

from dpmcmc.posterior.statement import Statement, round_up
from dpmcmc.report.elements import (
    Section,
    bar,
    bullets,
    heading,
    paragraph,
    table,
)
from dpmcmc.report.pictures import COLOURS

__all__ = ["guarantee", "in_a_sentence"]

_GUESSES = (0.01, 0.1, 0.5, 0.9)
_GROUPS = (1, 2, 5, 10)
_LARGE = 3.0
"""An ε above which the promise says little."""

_NO_PROMISE = 0.01
"""A δ above which there is no promise to speak of."""

_BELIEVED, _GAINED = COLOURS[0], COLOURS[1]


def guarantee(statement: Statement) -> Section:
    """What is promised to whoever is in the records, or that nothing is."""
    body = _promised(statement) if statement.is_private else _not_promised(statement)
    return Section("guarantee", "What the guarantee means", body)


def in_a_sentence(statement: Statement) -> str:
    """What is promised, for a reader of one sentence."""
    if not statement.is_private:
        return (
            "This result is NOT PRIVATE. It may show what single records hold. Do not "
            f"pass it on if the {statement.records:,} records are sensitive."
        )
    after = _percent(_sure(0.5, statement.epsilon))
    weak = statement.epsilon > _LARGE
    return (
        f"The result is private{', but weakly' if weak else ''}: whoever is 50% sure "
        f"of a guess about one of the {statement.records:,} records can be at most "
        f"{after} sure after reading it, but for a chance of about "
        f"{_chance(statement.delta)}."
    )


def _promised(statement: Statement) -> list[str]:
    epsilon, delta = statement.epsilon, statement.delta
    return [
        paragraph(
            "Suppose that anyone’s record had been replaced by any other record, and "
            "that all had been done again. The chance of anything that this report "
            "might have said would have changed by at most a factor of "
            f"{_factor(epsilon)}, but for a chance of about {_chance(delta)}. So what "
            "the draws can tell about any one record is bounded, even for someone who "
            "knows all the others."
        ),
        paragraph(
            "In numbers: someone has a guess about one record, and reads everything "
            "that was released. The guess can become at most so sure:"
        ),
        table(
            f"What the best reader can learn of one record (ε = {round_up(epsilon)})",
            ["Sure before", "Sure after, at most", "In a picture"],
            [_learnt(guess, epsilon) for guess in _GUESSES],
            kind="bars",
        ),
        paragraph(
            "Blue is what was believed before, orange the most that the release can "
            "add.",
            "note",
        ),
        *([paragraph(_weak(epsilon), "care")] if epsilon > _LARGE else []),
        heading("What is protected"),
        bullets(
            [
                (
                    "Any one record,",
                    f"whichever of the {statement.records:,} it is, against being "
                    "replaced by any other; and against anyone who sees the draws, "
                    "whatever else they know, now or later.",
                ),
                (
                    "Everything computed from the draws,",
                    "such as this report: it costs nothing more.",
                ),
            ]
        ),
        heading("What is not protected"),
        bullets(
            [
                (
                    "How many records there are.",
                    "The number is public, and so are the model, the bounds and every "
                    "setting.",
                ),
                (
                    "People with several records, and groups.",
                    "The promise is for one record; it weakens with each further one, "
                    "as the table says.",
                ),
                (
                    "What is true of the population.",
                    "If smoking causes cancer, the draws say so, and that tells "
                    "something about a smoker who is not among the records at all.",
                ),
                (
                    "How the answer is used.",
                    "A model can be wrong, or be applied to people whom it does not "
                    "fit; privacy says nothing about that.",
                ),
                (
                    "Other releases.",
                    "Anything else released from the same records, before or after, "
                    "adds to the cost; a ledger keeps count.",
                ),
                (
                    "Choices made by looking.",
                    "The promise holds if the model, the bounds and all settings were "
                    "chosen without looking at the records.",
                ),
                (
                    "The machine.",
                    "Whoever could watch the computation itself, its memory or its "
                    "timing, is trusted.",
                ),
            ]
        ),
        table(
            "What the promise is worth to someone with several records",
            ["Records of one person", "ε", "δ", "A guess of 50% becomes at most"],
            [_group(count, epsilon, delta) for count in _GROUPS],
        ),
    ]


def _not_promised(statement: Statement) -> list[str]:
    return [
        paragraph("NOT PRIVATE: there is no guarantee.", "alarm"),
        paragraph(
            "The draws were made without protection, because "
            f"{'; and '.join(statement.not_private_because)}. Anyone who sees them may "
            f"learn what single records hold. If the {statement.records:,} records are "
            "sensitive, neither the draws nor this report may be passed on."
        ),
        paragraph(
            "A private run of the same model has a budget (ε, δ) that is settled "
            "before a record is read, a bound on what one record can do to each step, "
            "and fresh secret randomness. Its report says what that protects."
        ),
    ]


def _factor(epsilon: float) -> str:
    return f"{math.exp(epsilon):,.3g}" if epsilon < 14 else f"e to the {epsilon:.4g}"


def _chance(delta: float) -> str:
    """A small chance in words, never smaller than it is."""
    if not 0 < delta < 0.1:
        return round_up(delta)
    # A millionth is one in a million, though its float is not exactly.
    return f"one in {math.floor((1 + 1e-12) / delta):,}"


def _sure(guess: float, epsilon: float) -> float:
    """The most that a guess can become, by Bayes' rule."""
    odds = math.log(guess / (1 - guess)) + epsilon
    return 1 / (1 + math.exp(-odds)) if odds < 36 else 1.0


def _percent(share: float) -> str:
    """A share, rounded up."""
    shown = math.ceil(share * 1000) / 10
    return f"{shown:g}%" if shown < 100 else "nearly 100%"


def _learnt(guess: float, epsilon: float) -> list[str]:
    """A row of the table of guesses."""
    before, after = f"{guess:.0%}", _percent(_sure(guess, epsilon))
    gained = _sure(guess, epsilon) - guess
    picture = bar(
        [(guess, _BELIEVED), (gained, _GAINED)], f"From {before} to at most {after}"
    )
    return [before, after, picture]


def _group(count: int, epsilon: float, delta: float) -> list[str]:
    """The same for several records: kε, and k exp((k − 1) ε) δ."""
    power = (count - 1) * epsilon
    wider = count * math.exp(power) * delta if power < 700 else 1.0
    if wider > _NO_PROMISE:
        return [str(count), "–", "–", "no promise"]
    sure = _percent(_sure(0.5, count * epsilon))
    return [str(count), round_up(count * epsilon), round_up(wider), sure]


def _weak(epsilon: float) -> str:
    return (
        f"An ε of {round_up(epsilon)} is large: against the best reader the promise "
        "says little. Real readers may be far from the best, but nobody has proven it."
    )
