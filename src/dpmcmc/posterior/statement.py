# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The privacy statement: what was released and what it cost, as data; words are a view.

It goes with the draws wherever they go, so that a reader of a saved file or a picture
sees the same guarantee, or the same warning, as the person who ran the sampler.
"""

import html
import json
import math
import textwrap
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from decimal import ROUND_CEILING, Context, Decimal
from numbers import Integral
from typing import Literal

__all__ = ["StageSummary", "Statement", "Verdict", "round_up"]

Usability = Literal["usable", "usable with wide intervals", "not usable"]

_WIDTH = 88


@dataclass(frozen=True)
class Verdict:
    """What the evidence says of the result, in one line.

    Attributes
    ----------
    usability
        Whether means and intervals can be used.
    reason
        Why, in a sentence or two.
    """

    usability: Usability
    reason: str

    def __str__(self) -> str:
        return f"{self.usability[0].upper()}{self.usability[1:]}: {self.reason}"


@dataclass(frozen=True)
class StageSummary:
    """One row of a statement: what a stage released.

    Attributes
    ----------
    name
        The name of the stage, such as "chain".
    sentence
        What was released, in words.
    fraction
        Its fraction of the cost, by zero-concentrated privacy; 0 if it read no record.
    numbers
        Public and released numbers about it, by name.
    """

    name: str
    sentence: str
    fraction: float = 0.0
    numbers: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Statement:
    """What was released, what it cost, and under which assumptions.

    Attributes
    ----------
    epsilon, delta
        The guarantee, rounded up. ε is infinite if the result is not private.
    records
        The number of records, or of units, which is public.
    rho, mu
        The same cost in zero-concentrated and in Gaussian differential privacy, but
        for what rounding may add to δ; None where it is not known.
    profile
        Other pairs (ε, δ) that hold at the same time.
    unit, most
        The column of ids if units were protected, such as persons with all their
        records, and how many records of a unit counted; None and 1 if each record was.
    hides_number
        Whether ``records`` is a public number in place of how many there are, so that
        adding and removing one is protected, too.
    stages
        What was released, stage by stage.
    accountant
        Which bound on the cost was the smallest.
    tempered
        How many records the likelihood counts for; N₀ in the paper.
    prepared
        What was done to each record before the model read it.
    not_private_because
        Every reason why the result is not private; empty if it is.
    verdict
        What the evidence says of the result, if anything was asked.
    notes
        Remarks that a careful reader should see.
    version
        The version of dpmcmc.
    """

    epsilon: float
    delta: float
    records: int
    stages: tuple[StageSummary, ...]
    accountant: str
    tempered: float
    prepared: tuple[str, ...] = ()
    not_private_because: tuple[str, ...] = ()
    verdict: Verdict | None = None
    notes: tuple[str, ...] = ()
    version: str = ""
    rho: float | None = None
    mu: float | None = None
    profile: tuple[tuple[float, float], ...] = ()
    unit: str | None = None
    most: int = 1
    hides_number: bool = False

    @property
    def one(self) -> str:
        """What is protected: a "record" or a "unit"."""
        return "record" if self.unit is None else "unit"

    @property
    def counted(self) -> str:
        """How many there are, in words."""
        by = "" if self.unit is None else f" (by {self.unit})"
        most = "at most " * self.hides_number
        return f"{most}{self.records:,} {self.one}s{by}"

    @property
    def adjacency(self) -> str:
        """Which tables must be hard to tell apart, in words."""
        if self.hides_number:
            return f"addition, removal or substitution of one {self.one}"
        return f"substitution of one {self.one} by any other"

    @property
    def is_private(self) -> bool:
        """Whether the result carries a guarantee; without a finite ε it has none."""
        return not self.not_private_because and math.isfinite(self.epsilon)

    @property
    def is_tempered(self) -> bool:
        """Whether the likelihood counts for fewer records than there are."""
        return self.tempered < self.records

    @property
    def label(self) -> str:
        """A few words, for titles and captions."""
        if not self.is_private:
            return "NOT PRIVATE"
        return f"(ε = {round_up(self.epsilon)}, δ = {round_up(self.delta)})-private"

    @property
    def lines(self) -> list[str]:
        """The whole statement, a paragraph a line."""
        head = self._private_lines() if self.is_private else self._not_private_lines()
        verdict = [] if self.verdict is None else [f"Verdict: {self.verdict}"]
        first, *rest = head
        return [first, *verdict, *rest, *(f"Note: {note}" for note in self.notes)]

    def to_json(self) -> str:
        """The statement as JSON, for files; `from_json` reads it back.

        JSON has no infinity, so the ε of a result that is not private is null.
        """
        epsilon = self.epsilon if math.isfinite(self.epsilon) else None
        stages = [
            {**vars(stage), "numbers": _to_json(stage.numbers)} for stage in self.stages
        ]
        fields = {**asdict(self), "epsilon": epsilon, "stages": stages}
        return json.dumps(fields, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "Statement":
        """Read what `to_json` wrote."""
        fields = json.loads(text)
        for name in ("not_private_because", "notes", "prepared"):
            fields[name] = tuple(fields[name])
        fields["stages"] = tuple(
            StageSummary(**{**stage, "numbers": _from_json(stage["numbers"])})
            for stage in fields["stages"]
        )
        fields["profile"] = tuple(map(tuple, fields.get("profile", ())))
        if fields["verdict"] is not None:
            fields["verdict"] = Verdict(**fields["verdict"])
        if fields["epsilon"] is None:
            fields["epsilon"] = math.inf
        return cls(**fields)

    def __str__(self) -> str:
        return "\n".join(
            textwrap.fill(line, _WIDTH, subsequent_indent="  ") for line in self.lines
        )

    def _repr_html_(self) -> str:
        parts = (html.escape(line).partition(":") for line in self.lines)
        return "".join(
            f"<p><b>{head}</b>{colon}{rest}</p>" if colon else f"<p>{head}</p>"
            for head, colon, rest in parts
        )

    def _private_lines(self) -> list[str]:
        return [
            f"Privacy: ε = {round_up(self.epsilon)}, δ = {round_up(self.delta)} "
            f"(differential privacy, proven){self._in_currencies()}.",
            f"Protected: any one of the {self.counted}, against {self._against()}",
            *self._unit_lines(),
            *self._stage_lines(),
            *self._common_lines(),
            f"Accountant: {self.accountant}. Rounding of floating-point numbers is "
            "included in δ. Randomness: ChaCha20, keyed by the operating system.",
            "Provided that the model, the method and every setting were chosen without "
            "looking at the records. Anything else released from the same records adds "
            "to this cost.",
        ]

    def _not_private_lines(self) -> list[str]:
        reasons = self.not_private_because or ("no finite ε was proven",)
        return [
            f"NOT PRIVATE: {'; '.join(reasons)}.",
            "This result carries no privacy guarantee. Do not release it if the "
            f"{self.counted} are sensitive.",
            *self._unit_lines(),
            *self._stage_lines(),
            *self._common_lines(),
        ]

    def _against(self) -> str:
        if self.hides_number:
            return (
                f"its addition, its removal and substitution by any other {self.one}. "
                f"How many {self.one}s there are is not public; if there are more than "
                f"{self.records:,}, the first count."
            )
        return (
            f"substitution by any other {self.one}. The number of {self.one}s is "
            "public."
        )

    def _in_currencies(self) -> str:
        known = {"ρ": (self.rho, "zCDP"), "μ": (self.mu, "GDP")}
        said = [
            f"{letter} = {round_up(value)} ({name})"
            for letter, (value, name) in known.items()
            if value is not None
        ]
        return f"; the same in {', '.join(said)}" if said else ""

    def _unit_lines(self) -> list[str]:
        if self.unit is None:
            return []
        return [
            f"Unit: all records with one value of {self.unit}. Their log-likelihoods "
            "are added before anything is bounded; of a unit's records the first "
            f"{self.most:,} count, and how many it has is not public. In the "
            "stages below, a unit is called a record."
        ]

    def _stage_lines(self) -> list[str]:
        return [f"Stage {stage.name}: {stage.sentence}" for stage in self.stages]

    def _common_lines(self) -> list[str]:
        lines = []
        if self.prepared:
            lines.append(
                f"Prepared, each record by itself: {'; '.join(self.prepared)}."
            )
        known = any("where missing" in one for one in self.prepared)
        lines.append(
            "Missing values: a record that has one counts for nothing"
            f"{', unless a distribution is declared for it above' * known}."
        )
        if self.is_tempered:
            lines.append(
                f"Tempered: the likelihood counts for N₀ = {self.tempered:.6g} records "
                f"(it is raised to the power {self.tempered / self.records:.4g}), so "
                "that the posterior is wider than that of all records."
            )
        return lines


def _to_json(numbers: Mapping[str, float]) -> dict[str, int | float | str]:
    """Numbers as JSON has them; those that it has not, as text."""
    plain = {
        name: int(value) if isinstance(value, Integral) else float(value)
        for name, value in numbers.items()
    }
    return {
        name: value if math.isfinite(value) else repr(value)
        for name, value in plain.items()
    }


def _from_json(numbers: Mapping[str, float | str]) -> dict[str, float]:
    return {
        name: float(value) if isinstance(value, str) else value
        for name, value in numbers.items()
    }


def round_up(value: float, digits: int = 4) -> str:
    """Show a cost with a few significant digits, never less than it is."""
    if not math.isfinite(value):
        return f"{value:g}"
    rounded = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(
        Decimal(repr(value))
    )
    return f"{float(rounded):.{digits}g}"
