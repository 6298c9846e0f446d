# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What a formula says: response, terms, offsets and groups, as a small tree.

The package formulae parses; nothing else of it is used. Its own design matrices take
means, knots and levels from the records, which is not private: ours are made from
what is declared.
"""

import logging
from dataclasses import dataclass
from typing import Any

from dpmcmc.errors import InputError

__all__ = ["Call", "Expression", "Group", "Name", "Parsed", "Value", "columns_in"]


@dataclass(frozen=True)
class Name:
    """A column."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Value:
    """A number or a text in the formula."""

    value: float | str

    def __str__(self) -> str:
        return repr(self.value)


@dataclass(frozen=True)
class Call:
    """A function, or an operator such as ``*``, of other expressions.

    ``text`` is what the user wrote, as names of coefficients show it.
    """

    function: str
    arguments: tuple["Expression", ...]
    settings: tuple[tuple[str, "Expression"], ...] = ()
    text: str = ""

    def __str__(self) -> str:
        return self.text


Expression = Name | Value | Call


@dataclass(frozen=True)
class Group:
    """An effect that varies over groups: ``(1 | clinic)`` or ``(age | clinic)``.

    ``slope`` is None for an intercept; ``factors`` are the columns whose levels are the
    groups, several for ``a:b``.
    """

    slope: Expression | None
    factors: tuple[str, ...]

    @property
    def factor(self) -> str:
        """The groups, as the formula has them."""
        return ":".join(self.factors)

    @property
    def name(self) -> str:
        """What the effect is called."""
        return f"{'1' if self.slope is None else self.slope}|{self.factor}"


@dataclass(frozen=True)
class Parsed:
    """A formula, taken apart."""

    response: Expression
    has_intercept: bool
    terms: tuple[tuple[Expression, ...], ...]
    offsets: tuple[Expression, ...]
    groups: tuple[Group, ...]

    @classmethod
    def of(cls, text: Any) -> "Parsed":
        """Parse a formula.

        Raises
        ------
        InputError
            If it cannot be parsed, has no response, or formulae is not installed.
        """
        description = _described(text)
        if description.response is None:
            raise InputError(
                f"the formula is {text!r}; it has no response. Write what is explained "
                "before ~, as in 'ill ~ age + income'."
            )
        (response,) = description.response.term.components
        terms, offsets, groups, intercept = [], [], [], False
        for term in description.terms:
            kind = type(term).__name__
            if kind == "Intercept":
                intercept = True
            elif kind == "GroupSpecificTerm":
                groups.append(_group(term))
            else:
                parts = tuple(map(_component, term.components))
                head = parts[0]
                if isinstance(head, Call) and head.function == "offset":
                    offsets += [_only_argument(head)]
                else:
                    terms.append(parts)
        return cls(
            _component(response),
            intercept,
            tuple(terms),
            tuple(offsets),
            tuple(groups),
        )


def columns_in(expression: Expression) -> tuple[str, ...]:
    """The columns that an expression reads, in their order."""
    if isinstance(expression, Name):
        return (expression.name,)
    if isinstance(expression, Value):
        return ()
    parts = (*expression.arguments, *(value for _, value in expression.settings))
    return tuple(dict.fromkeys(name for part in parts for name in columns_in(part)))


def _described(text: Any) -> Any:
    try:
        from formulae import model_description  # noqa: PLC0415 - an extra
    except ModuleNotFoundError:
        raise InputError(
            "formulas need the package formulae, which is not installed. Install it "
            "with: pip install 'dpmcmc[formula]'."
        ) from None
    if not isinstance(text, str) or "~" not in text:
        raise InputError(
            f"the formula is {text!r}; it must be text with a ~, as in "
            "'ill ~ age + income + (1 | clinic)'."
        )
    said: list[str] = []

    def listen(record: logging.LogRecord) -> bool:
        said.append(record.getMessage())
        return False

    remarks = logging.getLogger("formulae")
    remarks.addFilter(listen)
    try:
        found = model_description(text)
    except Exception as problem:  # of several kinds, none of which has a base
        why = str(problem) or "it has no end"
        if isinstance(problem, TypeError):
            why = "an operator stands between terms that it cannot join"
        raise InputError(
            f"the formula {text!r} cannot be parsed: {why}. Write it as "
            "'ill ~ age * income + C(region) + (1 | clinic)'."
        ) from None
    finally:
        remarks.removeFilter(listen)
    if said:
        raise InputError(
            f"the formula {text!r} is ambiguous: {' '.join(' '.join(said).split())}"
        )
    return found


def _component(component: Any) -> Expression:
    """A component of a term of formulae, as our own tree."""
    if hasattr(component, "call"):
        return _expression(component.call, component.name)
    if getattr(component, "reference", None) is not None:
        raise InputError(
            f"the formula has {component!r}; name the two levels of the response in "
            "levels, the one that counts as 1 last, and write its name alone."
        )
    return Name(component.name)


def _expression(node: Any, text: str = "") -> Expression:
    kind = type(node).__name__
    if kind == "LazyVariable":
        return Name(node.name)
    if kind == "LazyValue":
        return Value(node.value)
    if kind == "LazyOperator":
        arguments = tuple(map(_expression, node.args))
        return Call(node.symbol, arguments, text=text or str(node))
    settings = tuple((name, _expression(one)) for name, one in node.kwargs.items())
    function = node.callee.removeprefix("np.").removeprefix("numpy.")
    return Call(function, tuple(map(_expression, node.args)), settings, text)


def _group(term: Any) -> Group:
    factors = [_component(one) for one in term.factor.components]
    names = tuple(name for one in factors for name in columns_in(one))
    if type(term.expr).__name__ == "Intercept":
        return Group(None, names)
    slope = tuple(map(_component, term.expr.components))
    if len(slope) != 1:
        raise InputError(
            f"the formula has ({term.expr.name} | {':'.join(names)}); a slope that "
            "varies over groups must be of one column. Make the product a column, as "
            "in (I(age * income) | clinic)."
        )
    return Group(slope[0], names)


def _only_argument(call: Call) -> Expression:
    if len(call.arguments) != 1 or call.settings:
        raise InputError(
            f"the formula has {call}; {call.function} takes one argument, as in "
            f"{call.function}(log(years))."
        )
    return call.arguments[0]
