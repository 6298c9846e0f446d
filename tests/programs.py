# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Reading a traced program: which of its numbers come from records, and how."""

import enum


class Source(enum.IntEnum):
    """What a number may tell about the records, from nothing to everything."""

    PUBLIC = 0
    BIT = 1  # through the outcome of a test
    SUM = 2  # through a sum of integers over records
    RECORD = 3  # one number for each record


# Operations that act on each entry by itself, or only move whole axes about.
ENTRYWISE = {
    *("add", "sub", "mul", "div", "neg", "abs", "integer_pow", "square", "sqrt"),
    *("exp", "log", "sin", "max", "min", "clamp", "round", "select_n", "is_finite"),
    *("erf", "erfc", "add_any", "sign", "floor", "ceil"),
    *("eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not", "copy"),
    *("convert_element_type", "broadcast_in_dim", "reshape", "squeeze", "transpose"),
}

COMPONENTS = 5
"""Components of the correction in these tests, a length that no other axis has."""


def inner_programs(equation):
    """The programs that an equation calls, such as a compiled function's."""
    for value in equation.params.values():
        for one in value if isinstance(value, tuple | list) else [value]:
            program = getattr(one, "jaxpr", one)
            if hasattr(program, "eqns"):
                yield program


def equations(program):
    """All equations of a program, those of inner programs too."""
    for equation in program.eqns:
        yield equation
        for inner in inner_programs(equation):
            yield from equations(inner)


def trace_sources(program, inputs, records, sums=None):
    """Follow the records through a program; return the source of each output.

    Fails at an equation that mixes records other than by a sum of integers.
    ``records`` is the length of the axis of records, which no other axis has. The
    dtype of each sum over records is appended to ``sums``.
    """
    sums = [] if sums is None else sums
    known = dict(zip(program.invars, inputs, strict=True))

    def source(variable):
        is_literal = hasattr(variable, "val")
        return Source.PUBLIC if is_literal else known.get(variable, Source.PUBLIC)

    for equation in program.eqns:
        sources = [source(variable) for variable in equation.invars]
        inner = list(inner_programs(equation))
        is_mixed = {Source.SUM, Source.RECORD} <= set(sources) and not inner
        name = equation.primitive.name
        assert not is_mixed or name == "select_n", f"{name} scales records by their sum"
        if max(sources, default=Source.PUBLIC) <= Source.BIT:
            results = [max(sources, default=Source.PUBLIC)] * len(equation.outvars)
        elif inner and equation.primitive.name in ("jit", "pjit", "closed_call"):
            results = trace_sources(inner[0], sources, records, sums)
        elif equation.primitive.name == "while":
            results = _looped(equation, sources, records, sums)
        elif equation.primitive.name == "reduce":
            results = _reduced(equation, inner[0], records, sums)
        else:
            results = [_result(equation, max(sources), records, sums)]
        known.update(zip(equation.outvars, results, strict=True))
    return [source(variable) for variable in program.outvars]


def _looped(equation, sources, records, sums):
    """What is carried round a loop, followed until nothing more is learnt.

    How often it goes round must be public, or follow from bits.
    """
    for_end = equation.params["cond_nconsts"]
    first = for_end + equation.params["body_nconsts"]
    fixed, carried = sources[for_end:first], sources[first:]
    body = equation.params["body_jaxpr"].jaxpr
    end = equation.params["cond_jaxpr"].jaxpr
    while True:
        found = trace_sources(body, [*fixed, *carried], records, sums)
        joined = [max(old, new) for old, new in zip(carried, found, strict=True)]
        if joined == carried:
            (ends,) = trace_sources(end, [*sources[:for_end], *carried], records)
            assert ends <= Source.BIT, "a loop ends by what records say"
            return carried
        carried = joined


def _result(equation, worst, records, sums):
    name, (output,) = equation.primitive.name, equation.outvars
    dtype, has_records = output.aval.dtype, records in output.aval.shape
    if worst == Source.RECORD and not has_records:
        is_sum = name in ("reduce_sum", "scatter-add")
        assert is_sum, f"{name} takes records together"
        assert dtype.kind == "i", f"records are summed as {dtype}"
        sums.append(dtype)
        return Source.SUM
    if name == "reduce_sum" and _reduced_length(equation) == COMPONENTS:
        return worst  # over the components of a correction, for one bit
    if name == "reduce_sum" and worst == Source.SUM:  # blocks into a total
        assert dtype.kind == "i", f"sums are added as {dtype}"
        sums.append(dtype)
        return Source.SUM
    adds = name in ("dot_general", "reduce_sum", "reduce_and")
    if adds and records not in _contracted(equation):
        return worst  # over the coordinates of each record
    # a part of another axis, or more of it, leaves that of records whole
    is_part = name == "slice" or (
        name == "concatenate" and not _joins(equation, records)
    )
    is_part = (is_part and has_records) or _picks(equation, records)
    assert is_part or name in ENTRYWISE, f"{name} may mix records: look at it"
    if worst == Source.SUM and name == "lt":
        return Source.BIT
    return worst


def _reduced(equation, inner, records, sums):
    """A reduction of several numbers at once, which may only add each up."""
    assert {one.primitive.name for one in inner.eqns} == {"add"}
    for output in equation.outvars:
        dtype = output.aval.dtype
        assert records not in output.aval.shape
        assert dtype.kind == "i", f"records are summed as {dtype}"
        sums.append(dtype)
    return [Source.SUM] * len(equation.outvars)


def _contracted(equation):
    """Lengths of the axes that a product or a sum adds over."""
    if equation.primitive.name in ("reduce_sum", "reduce_and"):
        axes = equation.params["axes"]
    else:
        (axes, _), _ = equation.params["dimension_numbers"]
    return [equation.invars[0].aval.shape[axis] for axis in axes]


def _joins(equation, records):
    """Whether arrays are put one after the other along the axis of records."""
    axis = equation.params["dimension"]
    return any(one.aval.shape[axis] == records for one in equation.invars)


def _picks(equation, records):
    """Whether entries of another axis are picked for all records, by constants."""
    if equation.primitive.name != "gather":
        return False
    operand, indices = equation.invars
    sizes = equation.params["slice_sizes"]
    numbers = equation.params["dimension_numbers"]
    (axis,) = (i for i, size in enumerate(operand.aval.shape) if size == records)
    is_whole = sizes[axis] == records and axis not in numbers.start_index_map
    return is_whole and records not in indices.aval.shape


def _reduced_length(equation):
    (axis,) = equation.params["axes"]
    return equation.invars[0].aval.shape[axis]
