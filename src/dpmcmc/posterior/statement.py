# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The privacy statement: what a result cost, in words, for whoever reads it."""

import json
import math
from dataclasses import asdict, dataclass
from decimal import ROUND_CEILING, Context, Decimal

__all__ = ["Statement", "round_up"]


@dataclass(frozen=True)
class Statement:
    """What was released, from which records, and what is guaranteed about it.

    Attributes
    ----------
    epsilon, delta
        The proven guarantee. ``epsilon`` is infinite where the result is not private.
    records
        How many records there are, N: public, and the same for neighbours.
    chains, steps
        One bit was released at each of ``steps`` steps of each chain.
    clip
        Bound on one record's log-likelihood ratio; None where the run had none of its
        own.
    decided
        How a bit was decided, in words.
    tempered
        How many records the likelihood counts for, N₀; ``records`` if not tempered.
    accountant
        Which accountant proved the guarantee.
    released_first
        What was released before the chain, in words, such as a start.
    prepared
        What was done to each record before it was read, in words.
    asks_records
        Whether the chain asked the records for bits. If not, it ran on what was
        released first, and on nothing else.
    not_private_because
        Why the result is not private; empty for a private result.
    notes
        What a careful reader should know besides.
    version
        The version of dpmcmc that made the result.
    """

    epsilon: float
    delta: float
    records: int
    chains: int
    steps: int
    clip: float | None
    decided: str
    tempered: float
    accountant: str
    not_private_because: tuple[str, ...]
    notes: tuple[str, ...]
    version: str
    released_first: tuple[str, ...] = ()
    prepared: tuple[str, ...] = ()
    asks_records: bool = True

    @property
    def is_private(self) -> bool:
        """Whether the result carries a privacy guarantee at all."""
        return not self.not_private_because and math.isfinite(self.epsilon)

    @property
    def is_tempered(self) -> bool:
        """Whether the likelihood counts for fewer records than there are."""
        return self.tempered < self.records

    @property
    def label(self) -> str:
        """The guarantee in a few words, for titles and captions."""
        if not self.is_private:
            return "NOT PRIVATE"
        return f"(ε = {round_up(self.epsilon)}, δ = {round_up(self.delta)})-private"

    @property
    def text(self) -> str:
        """The whole statement, one sentence or two a line."""
        lines = self._private_lines() if self.is_private else self._not_private_lines()
        return "\n".join([*lines, *(f"Note: {note}" for note in self.notes)])

    def to_json(self) -> str:
        """The statement as JSON, for files; `from_json` reads it back.

        JSON has no infinity, so the ε of a result that is not private is null.
        """
        epsilon = self.epsilon if math.isfinite(self.epsilon) else None
        return json.dumps({**asdict(self), "epsilon": epsilon}, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "Statement":
        """Read what `to_json` wrote."""
        fields = json.loads(text)
        for name in ("not_private_because", "notes", "prepared", "released_first"):
            fields[name] = tuple(fields[name])
        if fields["epsilon"] is None:
            fields["epsilon"] = math.inf
        return cls(**fields)

    def _private_lines(self) -> list[str]:
        return [
            f"Privacy: ε = {round_up(self.epsilon)}, δ = {round_up(self.delta)} "
            "(differential privacy, proven).",
            f"Protected: any one of the {self.records:,} records, against substitution "
            "by any other record. The number of records is public.",
            *(f"Released first: {words}." for words in self.released_first),
            self._released_line(),
            *self._prepared_lines(),
            *self._tempered_lines(),
            f"Accountant: {self.accountant}. Rounding of floating-point numbers is "
            "paid for in δ. Randomness: ChaCha20, keyed by the operating system.",
            "Provided that the model, the proposal, the start and every setting were "
            "chosen without looking at the records. Anything else released from the "
            "same records adds to this cost.",
        ]

    def _released_line(self) -> str:
        chains = f"{_plural(self.chains, 'chain')} of {_plural(self.steps, 'step')}"
        if not self.asks_records:
            return (
                "Released: no accept-or-reject bits of the records: the released sums "
                f"say all, and the draws ({chains}) are made of them alone."
            )
        bits = self.chains * self.steps
        return (
            f"Released: {bits:,} accept-or-reject bits ({chains}), each {self.decided}."
        )

    def _not_private_lines(self) -> list[str]:
        return [
            f"NOT PRIVATE: {'; '.join(self.not_private_because)}.",
            "This result carries no privacy guarantee. Do not release it if the "
            f"{self.records:,} records are sensitive.",
            *self._prepared_lines(),
            *self._tempered_lines(),
        ]

    def _prepared_lines(self) -> list[str]:
        if not self.prepared:
            return []
        return [f"Prepared, each record by itself: {'; '.join(self.prepared)}."]

    def _tempered_lines(self) -> list[str]:
        if not self.is_tempered:
            return []
        return [
            f"Tempered: the likelihood counts for N₀ = {self.tempered:.6g} records (it "
            f"is raised to the power {self.tempered / self.records:.4g}), so that the "
            "posterior is wider than that of all records."
        ]


def round_up(value: float, digits: int = 4) -> str:
    """Show a cost with a few significant digits, never less than it is."""
    if not math.isfinite(value):
        return f"{value:g}"
    rounded = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(
        Decimal(value)
    )
    return f"{float(rounded):.{digits}g}"


def _plural(count: int, word: str) -> str:
    return f"{count:,} {word}" + ("" if count == 1 else "s")
