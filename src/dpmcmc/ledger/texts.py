# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Names and notes that people give: safe to store, and to show on one line."""

from collections.abc import Iterable

from dpmcmc.ledger.errors import LedgerError

__all__ = ["names", "text"]


def text(name: str, value: object, *, empty: bool = True) -> str:
    """Return a text that is safe to store and to show on one line."""
    if not isinstance(value, str) or not (empty or value.strip()):
        raise LedgerError(f"{name} is {value!r}; it must be text. Give a name.")
    if not value.isprintable() or len(value) > 1000:
        raise LedgerError(
            f"{name} is {value[:60]!r}; it must be one line of at most 1,000 "
            "characters. Shorten it."
        )
    return value


def names(name: str, values: Iterable[str]) -> list[str]:
    """Return names of people; one name may be given as it is."""
    given = (values,) if isinstance(values, str) else tuple(values)
    return [text(name, value, empty=False) for value in given]
