# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The boundary as a whole: who may open records, and what a step does to them."""

import ast
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from programs import COMPONENTS, Source, trace_sources

import dpmcmc
from dpmcmc import private
from dpmcmc.correction import correction_for
from dpmcmc.model.model import Model
from dpmcmc.private import (
    BatchDecision,
    Chains,
    CorrectedNoise,
    FullData,
    Grid,
    Minibatch,
    NormalMixture,
    Records,
    Tape,
    acceptance,
    each_record,
    minibatch,
)
from dpmcmc.private import moves as steps_module
from dpmcmc.proposals import RandomWalk

PACKAGE = Path(dpmcmc.__file__).parent
BOUNDARY = PACKAGE / "private"
OUTSIDE = sorted(p for p in PACKAGE.rglob("*.py") if BOUNDARY not in p.parents)
INSIDE = sorted(BOUNDARY.rglob("*.py"))

EXPORTED = {
    *("Chains", "Records", "Released", "Tape", "Test", "FullData", "Minibatch"),
    *("BatchDecision", "CorrectedNoise", "Grid", "NormalMixture"),
    *("PLAIN", "Influence"),
    *("Bins", "Measure", "Parts", "release_counts", "release_sum"),
    *("foresee_counts", "foresee_sum"),
}
INNER_NAMES = {
    *("_SEALED", "_READ", "_PLACED", "open_records", "open_on_host", "Opened"),
    *("read_leaf", "read_values", "_resident", "_source", "_states", "_tape"),
    *("_supply", "_keystream", "Keystream", "on_device", "presence"),
    *("_inputs", "_Tape__key", "__key", "unseal", "remember"),
    *("Evidence", "clip_to_grid", "sum_of_steps", "sums_of_steps", "chacha20_words"),
    *(
        "draw_batches",
        "draw_on_device",
        "bounded_vectors",
        "rounded_normals",
        "release_total",
        "foresee_total",
    ),
    *("exact_sum", "exact_counts", "add_up", "vector_of_each", "looks_of_each"),
    *("parts_of", "vector_of"),
}


def test_the_door_of_the_boundary_is_as_wide_as_reviewed():
    """A new name at the door is a decision about privacy: review it, then add it."""
    assert set(private.__all__) == EXPORTED
    inside = {p.stem for p in INSIDE}
    public = {name for name in vars(private) if not name.startswith("_")}
    assert public - inside == EXPORTED


def names_used(tree):
    """Every name, attribute, keyword and text that a module writes down."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.alias):
            yield from node.name.split(".")
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def faults_of(source):
    """How a module outside reaches past the door of the boundary, if it does."""
    tree, faults = ast.parse(source), []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            faults += [a.name for a in node.names if "private" in a.name.split(".")]
        if isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            names = {alias.name for alias in node.names}
            if module == "dpmcmc.private":
                faults += sorted(names - EXPORTED)
            elif "private" in module.split(".") or "private" in names:
                faults.append(module)
    return faults + sorted(set(names_used(tree)) & INNER_NAMES)


RELEASES = {
    *("Chains", "Tape", "release_counts", "release_sum"),
    *("foresee_counts", "foresee_sum"),
}
STAGES = {
    *("sampling/chain.py", "sampling/check.py", "sampling/fit/stage.py"),
    *("sampling/stages.py", "sampling/sufficient_statistics.py"),
}
AUDIT = {"audit/decisions.py", "audit/default_run.py", "audit/releases.py"}
"""They make their own records, and attack what is released of them."""


def test_only_stages_release():
    """A stage has an event, a charge and a proof: nothing else asks the records."""
    found = {
        str(path.relative_to(PACKAGE))
        for path in OUTSIDE
        if RELEASES & set(names_used(ast.parse(path.read_text(encoding="utf-8"))))
    }
    assert found == STAGES | AUDIT


@pytest.mark.parametrize("path", OUTSIDE, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_nothing_outside_reaches_into_the_boundary(path):
    assert faults_of(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "source",
    [
        "import dpmcmc.private.records",
        "import dpmcmc.private",
        "from dpmcmc import private",
        "from . import private",
        "from .private import Records",
        "from dpmcmc.private.records import Records",
        "from dpmcmc.private import records",
        "from dpmcmc.private import *",
        "from dpmcmc.private import Records, open_records",
        "import sys; sys.modules['x']._SEALED",
        "getattr(chains, '_resident')",
        "chains._states[0].memory",
    ],
)
def test_a_module_that_reaches_in_is_found(source):
    assert faults_of(source)


def test_a_module_that_keeps_out_is_not():
    assert faults_of("from dpmcmc.private import Chains, Records\nimport jax") == []
    assert len(OUTSIDE) > 5


# Sums over records


REDUCTIONS = {
    *("sum", "mean", "dot", "matmul", "vdot", "inner", "einsum", "tensordot", "psum"),
    *("cumsum", "prod", "var", "std", "average", "nansum", "logsumexp", "median"),
    *("max", "min", "amax", "amin", "sort", "argmax", "argmin", "quantile", "norm"),
    *("reduce", "trace", "convolve", "histogram", "bincount", "segment_sum", "nanmean"),
}


def test_only_ratios_are_added_up_in_the_boundary():
    """By the text: calls of jnp, np and lax that take many numbers together."""
    found = []
    for path in INSIDE:
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef):
                found += [
                    (path.name, function.name, node.func.attr)
                    for node in ast.walk(function)
                    if isinstance(node, ast.Call)
                    and isinstance(node.func, ast.Attribute)
                    and node.func.attr in REDUCTIONS
                ]
                found += [
                    (path.name, function.name, "@")
                    for node in ast.walk(function)
                    if isinstance(node, ast.MatMult)
                ]
    assert sorted(found) == [
        ("batches.py", "_draw_again", "sort"),  # of numbers of records, not of records
        ("batches.py", "_drawn", "sort"),
        ("device_batches.py", "_put", "min"),  # the first empty place of a batch
        ("device_batches.py", "draw_again", "max"),  # of counts of empty places
        ("device_batches.py", "draw_again", "sum"),
        ("device_batches.py", "draw_on_device", "max"),  # the same: it is inside
        ("device_batches.py", "draw_on_device", "sort"),
        ("device_batches.py", "draw_on_device", "sum"),
        ("distributions.py", "mixture_bernoulli", "sum"),  # over parts of a mixture
        ("filling.py", "in_memory", "prod"),  # of a shape
        ("filling.py", "on_disk", "prod"),
        ("opening.py", "open_blocks", "prod"),
        ("ratios.py", "sum_of_steps", "sum"),
        ("ratios.py", "sum_of_steps", "sum"),
        ("ratios.py", "sums_of_steps", "reduce"),
        ("sources.py", "kinds", "sum"),  # how many rows are of this process's units
        ("sources.py", "read", "reduce"),  # over columns
        ("sums.py", "_scale", "sum"),  # over a record's coordinates
        ("sums.py", "added", "sum"),  # the same: it is inside
        ("sums.py", "bounded_vectors", "sum"),  # over a record's coordinates
        ("sums.py", "bounded_vectors", "sum"),
        ("sums.py", "exact_sum", "sum"),
        ("sums.py", "total", "sum"),  # inside exact_sum
    ]


def test_the_boundary_draws_from_no_other_randomness():
    """The tape alone: no generator of JAX, NumPy or Python stands in its text."""
    for path in INSIDE:
        words = set(names_used(ast.parse(path.read_text(encoding="utf-8"))))
        assert not words & {"random", "secrets", "default_rng", "PRNGKey"}
        assert path.name == "tape.py" or "urandom" not in words


def test_the_boundary_prints_logs_and_writes_nothing():
    for path in INSIDE:
        words = set(names_used(ast.parse(path.read_text(encoding="utf-8"))))
        assert not words & {"print", "logging", "warnings", "warn", "open", "callback"}


COUNT = 1021  # a prime, so that no other axis has its length


FITTED = correction_for(2.0)
NOISE = CorrectedNoise(
    2.0, NormalMixture(FITTED.centres, FITTED.widths, FITTED.weights)
)
assert len(FITTED.centres) == COMPONENTS
TESTS = {
    "barker": FullData(Grid(0.01)),
    "gaussian": FullData(Grid(0.01), NOISE),
    "minibatch": Minibatch(BatchDecision(Grid(1.0), COUNT, NOISE)),
}


def sources_of_step(dtype="float32", log_likelihood=None, chains=3, test="barker"):
    """Trace one step and follow the records through it.

    A batch has as many records as a test on all records has here, so that one
    length marks the axis of records.
    """

    def quadratic(theta, record):
        return -0.5 * (record["x"] - theta["mean"]) ** 2 + jnp.exp(theta["other"])

    model = Model(
        log_likelihood or quadratic,
        lambda theta: -(theta["mean"] ** 2),
        {"mean": 0.0, "other": 0.0},
    )
    records = 3 * COUNT if test == "minibatch" else COUNT
    with jax.enable_x64(True):
        start = {"mean": jnp.zeros((), dtype), "other": jnp.zeros((), dtype)}
        running = Chains(
            model,
            Records({"x": np.zeros(records)}),
            RandomWalk(0.1).fit(start),
            TESTS[test],
            Tape.seeded(1),
            start=jax.tree.map(lambda leaf: jnp.stack([leaf] * chains), start),
            dtype=dtype,
            chunk=2,
            devices=jax.devices()[:1],
        )
        inputs = jax.tree.map(lambda leaf: leaf[0], running._inputs(0, 2)[0])
        arguments = running._resident, running._states[0], running._kernel, inputs

        def step(*given):
            return steps_module._step(model, running._test, dtype, *given)

        program, shape = jax.make_jaxpr(step, return_shape=True)(*arguments)
    resident, state, kernel, inputs = jax.tree.map(lambda _: Source.PUBLIC, arguments)

    def of_records(tree):
        return jax.tree.map(lambda _: Source.RECORD, tree)

    state = state._replace(memory=of_records(state.memory))
    inputs = inputs._replace(batch=of_records(inputs.batch))
    flat = jax.tree.leaves((of_records(resident), state, kernel, inputs))
    sums = []
    outputs = trace_sources(program.jaxpr, flat, COUNT, sums)
    return jax.tree.unflatten(jax.tree.structure(shape), outputs), sums


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("test", TESTS)
def test_a_step_releases_nothing_but_what_a_bit_tells(test, dtype):
    """In the traced program: records are mixed by integer sums alone.

    The bit, the points and the priors depend on the records only through the
    outcome of a comparison; the memory alone holds numbers of records.
    """
    (state, accepted), sums = sources_of_step(dtype=dtype, test=test)
    assert accepted == Source.BIT
    assert set(jax.tree.leaves(state.theta)) == {Source.BIT}
    assert state.log_prior == Source.BIT
    if test == "minibatch":
        assert state.memory == ()
        assert [str(kind) for kind in sums] == ["int64", "int64"]
    else:
        assert state.memory == Source.RECORD
        assert [str(kind) for kind in sums] == ["int32", "int64"]


def test_a_step_that_adds_floats_over_records_is_found(monkeypatch):
    def floats(steps, block):
        return jnp.sum(steps.astype(jnp.float32), axis=-1)

    monkeypatch.setattr("dpmcmc.private.decisions.sum_of_steps", floats)
    with pytest.raises(AssertionError, match="summed as float32"):
        sources_of_step()


def test_a_batch_whose_squares_are_added_as_floats_is_found(monkeypatch):
    def floats(steps):
        squares = steps.astype(jnp.float64) ** 2
        return jnp.sum(steps, axis=-1), jnp.sum(squares, axis=-1)

    monkeypatch.setattr("dpmcmc.private.decisions.sums_of_steps", floats)
    with pytest.raises(AssertionError, match="summed as float64"):
        sources_of_step(test="minibatch")


def replace_looks(monkeypatch, looks):
    """Exchange what both kinds of test look at records with."""
    for module in (acceptance, minibatch):
        monkeypatch.setattr(module, "looks_of_each", looks)


@pytest.mark.parametrize("test", TESTS)
def test_a_step_that_mixes_records_is_found(monkeypatch, test):
    inner = each_record.looks_of_each

    def centred(*given):
        each = inner(*given)
        return each - jnp.max(each, axis=-1, keepdims=True)

    replace_looks(monkeypatch, centred)
    with pytest.raises(AssertionError, match="takes records together"):
        sources_of_step(test=test)


@pytest.mark.parametrize("test", TESTS)
def test_a_step_that_shifts_records_is_found(monkeypatch, test):
    inner = each_record.looks_of_each

    def shifted(*given):
        return jnp.cumsum(inner(*given), axis=-1)

    replace_looks(monkeypatch, shifted)
    with pytest.raises(AssertionError, match="may mix records"):
        sources_of_step(test=test)


def test_a_step_that_moves_by_the_sum_is_found(monkeypatch):
    """A point that takes in the log odds themselves, not their bit."""
    inner = acceptance.barker

    def leaking(total, *given):
        return inner(total, *given) | (total > 3)

    monkeypatch.setattr(acceptance, "barker", leaking)
    (state, accepted), _ = sources_of_step()
    assert accepted == Source.SUM
    assert Source.SUM in jax.tree.leaves(state.theta)


def test_a_record_sees_no_other_record():
    """The user's function under vmap: it has no axis of records to sum over."""

    def mean_of_all(theta, record):
        return theta["mean"] * jax.lax.pmean(record["x"], "records")

    with pytest.raises(NameError, match="records"):
        sources_of_step(log_likelihood=mean_of_all)
