# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Programs that are compiled ahead: each once, awaited, and none left behind."""

from collections import Counter
from collections.abc import Iterator
from threading import Event
from threading import enumerate as threads_alive
from typing import Any

import jax
import numpy as np
import pytest

import dpmcmc
from dpmcmc.sampling import ahead
from dpmcmc.sampling.ahead import Ahead
from dpmcmc.sampling.fit import stage
from dpmcmc.sampling.fit.asking import Ask

COMPILED = "/jax/core/compile/backend_compile_duration"


def compiling() -> set[str]:
    return {one.name for one in threads_alive() if one.name.startswith("compile")}


def test_what_is_under_way_is_awaited() -> None:
    done, may_go = [], Event()

    def slow() -> None:
        may_go.wait()
        done.append("slow")

    started = Ahead()
    started.begin([("slow", slow)])
    started.wait("another")
    assert done == []
    may_go.set()
    started.wait("slow")
    assert done == ["slow"]
    started.wait("slow")


def test_what_goes_wrong_is_left_to_what_asks_for_it() -> None:
    def fail() -> None:
        raise ValueError

    def traced() -> Iterator[tuple[str, Any]]:
        yield "fails", fail
        raise TypeError

    started = Ahead()
    started.begin(traced())
    started.wait("fails")
    started.close()


def test_at_the_end_what_has_not_begun_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ahead, "_THREADS", 1)
    done, begun, is_closing = [], Event(), Event()

    def first() -> None:
        begun.set()
        is_closing.wait()
        done.append("first")

    started = Ahead()
    started.begin([("first", first), ("second", lambda: done.append("second"))])
    begun.wait()
    second = started._under_way["second"]
    second.add_done_callback(lambda _: is_closing.set())
    started.close()
    assert second.cancelled()
    assert done == ["first"]
    assert not compiling()


@pytest.fixture
def compiled() -> Counter[str]:
    """Programs by name, as they are compiled, on whatever thread."""
    found = Counter[str]()

    def compile_(event: str, *_: Any, fun_name: str = "", **__: Any) -> None:
        if event == COMPILED:
            found[fun_name] += 1

    jax.monitoring.register_event_duration_secs_listener(compile_)
    return found


@pytest.mark.usefixtures("deciding")
def test_a_default_run_compiles_as_many_programs_with_threads_as_without(
    model: dpmcmc.Model, compiled: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So none is compiled twice, or in vain; and draws are the same."""
    records = np.random.default_rng(1).normal(0.3, 1.0, size=3000)
    found = []
    for begin in (Ahead.begin, lambda *_: None):
        monkeypatch.setattr(Ahead, "begin", begin)
        jax.clear_caches()
        compiled.clear()
        posterior = dpmcmc.sample_not_private(
            model, records, seed=1, epsilon=20.0, progress=False
        )
        found.append((dict(compiled), posterior.draws["mean"].tobytes()))
        assert not compiling()
    assert found[0] == found[1]


def test_a_default_run_foresees_all_that_it_asks(
    model: dpmcmc.Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Questions, and shapes and dtypes of the public numbers that they read."""

    asked: list[Ask] = []
    inner = stage._released

    def released(context: Any, ask: Ask, *rest: Any) -> Any:
        asked.append(ask)
        return inner(context, ask, *rest)

    def shape(ask: Ask) -> tuple[Any, ...]:
        with jax.enable_x64(True):
            leaves, structure = jax.tree.flatten(ask.public)
            kinds = tuple(jax.typeof(leaf) for leaf in leaves)
        return ask.question, ask.histograms, ask.is_final, structure, kinds

    monkeypatch.setattr(stage, "_released", released)
    records = np.random.default_rng(1).normal(0.3, 1.0, size=3000)
    dpmcmc.sample_not_private(model, records, seed=1, epsilon=20.0, progress=False)
    first = asked[0]
    foreseen = [shape(one) for one in (first, *first.to_come)]
    assert len(set(foreseen)) == 9
    assert {shape(one) for one in asked} == set(foreseen)
    assert sum(one.fraction for one in first.to_come) == 0
