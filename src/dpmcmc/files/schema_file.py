# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""schema.yaml: read what is known of a table, and write a template to fill in.

A template is made of the names of the columns and, where the file has them, of their
types: of a text file its first line is read, of others the metadata; never a record.
"""

import json
import re
from pathlib import Path
from typing import Any

import yaml

from dpmcmc.errors import InputError
from dpmcmc.files.data_file import header_of
from dpmcmc.files.problems import FileError, not_readable
from dpmcmc.files.readings import NUMBER, declared_type
from dpmcmc.model.schema import Schema, as_schema

__all__ = ["read_schema", "schema_template"]

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""Names that need no quotes."""

_HEAD = """\
# What is known of {name} without looking at its records: all of it is public.
# Remove the columns that no model reads, and fill in the rest from the questionnaire,
# never from the table.
#   type         number, integer, boolean, text or date
#   bounds       [low, high]: values outside are moved to the nearer; dates for a date
#   levels       the values that a text may have; any other counts as missing
#   origin       the day from which a date is counted, such as 2000-01-01
#   measured_in  the unit of measurement, such as years

# If one person has several records, name the column that says whose each is, and how
# many records of a person count. All of them are then protected together.
unit:
most:

# To protect how many records (or persons) there are, choose a public number that is
# larger. Leave it empty if their number is public.
size:

columns:
"""


class _Texts(yaml.BaseLoader):  # type: ignore[misc]
    """Reads every value as the text that it is written as: no is no, and not false."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        """Refuse a name that is written twice."""
        names = [self.construct_object(key, deep=True) for key, _ in node.value]
        for name in names:
            if not isinstance(name, str) or names.count(name) > 1:
                raise InputError(f"{name!r} stands there twice, or is no name.")
        return super().construct_mapping(node, deep)


def read_schema(path: str | Path) -> Schema:
    """Read a schema from a YAML file.

    Parameters
    ----------
    path
        The file, such as one that ``dpmcmc schema`` made and someone filled in.

    Raises
    ------
    FileError
        If it cannot be read, or is no schema.
    """
    place = Path(path)
    try:
        return as_schema(yaml.load(place.read_text("utf-8"), _Texts))
    except OSError as error:
        raise not_readable(place, error) from None
    except InputError as problem:
        raise FileError(f"{place}: {problem}") from None
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as problem:
        mark = getattr(problem, "problem_mark", None)
        where = "" if mark is None else f" (line {mark.line + 1})"
        raise FileError(
            f"{place} is no YAML{where}. Write it as name: value, indented by spaces."
        ) from None


def schema_template(path: str | Path) -> str:
    """What to fill in for a data file; no record is read.

    Parameters
    ----------
    path
        A data file, as in `DataFile`. The first line of a text file must name its
        columns.

    Raises
    ------
    FileError
        If it cannot be read, or its first line does not look like names.
    """
    place = Path(path)
    found = header_of(place)
    names = [name for name, kind in found if kind is None]
    are_names = not any(map(_is_no_name, names)) and len(set(names)) == len(names)
    if not found or not are_names:
        raise FileError(
            f"the first line of {place} has an empty cell, a number, a name twice or "
            "no UTF-8: it may be a record, and is not shown. Put a line with the names "
            "of the columns before it."
        )
    return _HEAD.format(name=place.name) + "".join(_part(*one) for one in found)


def _is_no_name(text: str) -> bool:
    return not text or re.fullmatch(NUMBER[2:-2], text) is not None


def _part(name: str, kind: Any) -> str:
    """One column of a template."""
    shown = name if _PLAIN.fullmatch(name) else json.dumps(name)
    known = "" if kind is None else declared_type(kind)
    if known is None:
        return f"  # {shown}: has type {kind}, which cannot be read\n"
    wanted = {"text": ["levels"], "date": ["origin", "bounds"], "boolean": []}
    fields = wanted.get(known, ["bounds", "measured_in"])
    if not known:
        fields = ["bounds", "levels", "origin", "measured_in"]
    lines = [f"    type: {known}".rstrip(), *(f"    {name}:" for name in fields)]
    return "\n".join([f"  {shown}:", *lines, ""])
