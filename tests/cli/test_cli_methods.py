# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Every method by the command line, from a table to the report.

The tables have 20,000 rows: past every size at which files, blocks, chunks and counts
are cut or written with a comma.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpmcmc import Posterior
from dpmcmc.ledger import Ledger

ROWS = 20_000
LEDGER = "--ledger study.db --data-set many --analyst ana"
BUDGET = "--epsilon 1 --delta 1e-6"

REGRESSION = """\
import numpyro
import numpyro.distributions as dist


def model(x, group, y=None):
    slope = numpyro.sample("slope", dist.Normal(0, 2))
    with numpyro.plate("groups", 3):
        level = numpyro.sample("level", dist.Normal(0, 2))
    with numpyro.plate("records", len(x)):
        logits = level[group] + slope * x
        numpyro.sample("y", dist.Bernoulli(logits=logits), obs=y)
"""

Command = Callable[..., Any]


@pytest.fixture
def many(folder: Path, dpmcmc: Command) -> Path:
    """A folder with a large data set in its ledger."""
    budget = f"--records {ROWS} --epsilon 3 --delta 1e-6"
    assert dpmcmc(f"ledger register study.db many {budget}").code == 0
    return folder


def normal_table(folder: Path) -> np.ndarray:
    """A column that the model of the folder reads, and one that it does not."""
    import pyarrow as pa
    from pyarrow import parquet

    x = np.random.default_rng(8).normal(1.0, 1.0, ROWS)
    parquet.write_table(pa.table({"x": x, "z": x}), folder / "people.parquet")
    return x


def assert_whole(dpmcmc: Command, folder: Path, said: Any) -> Posterior:
    """The run was charged for, and left draws, a statement and a report."""
    assert said.code == 0, said.err
    values = json.loads(said.out)
    assert values["ledger"]["reserved"] == 0
    assert 0 < values["ledger"]["spent"] < 0.6
    page = (folder / "run" / "report.html").read_text("utf-8")
    for row in values["statement"]["stages"]:
        assert f"<b>{row['name']}:</b>" in page
    assert f"{ROWS:,}" in page
    assert dpmcmc("report run", "--title", "Means of 2026").code == 0
    assert "<title>Means of 2026" in (folder / "run" / "report.html").read_text("utf-8")
    with Ledger.open("study.db") as ledger:
        assert ledger.verify().ok
    posterior = Posterior.load("run/posterior.nc")
    assert str(posterior.statement) in (folder / "run" / "statement.txt").read_text(
        "utf-8"
    )
    return posterior


HOW = {
    "barker": "--clip 0.002 --scale 0.05 --epsilon 1",
    "gaussian-barker": "--clip 0.002 --scale 0.05 --steps 400",
    "minibatch-barker": "--batch 500 --tempering 1000 --scale 0.05 --steps 400",
    "sufficient-statistics": "--epsilon 1",
}


@pytest.mark.parametrize("method", HOW)
def test_every_method_from_end_to_end(dpmcmc: Command, many: Path, method: str) -> None:
    """Means within 0.2: ten posterior sds of a chain at ε = 1, or 200 of the records;
    two of the posterior tempered to 1,000 records, from where the chain starts."""
    x = normal_table(many)
    words = f"sample model.py:model --data people.parquet --delta 1e-6 {LEDGER}"
    how = f"--method {method} {HOW[method]}"
    said = dpmcmc(f"{words} {how} --out run --yes --json")
    posterior = assert_whole(dpmcmc, many, said)
    assert posterior.statement.epsilon <= 1
    assert posterior.statement.stages[-1].name == "chain"
    assert np.mean(posterior.draws["mean"]) == pytest.approx(x.mean(), abs=0.2)


def test_a_numpyro_model_by_the_default_method(dpmcmc: Command, many: Path) -> None:
    """Codes of groups, which a text file does not say to be integers, are indices.

    At ε = 1 intervals are about twice as wide as without privacy, where the sd of a
    coefficient is 0.03; 0.4 is above five of the wider sds.
    """
    generator = np.random.default_rng(9)
    x, group = generator.normal(size=ROWS), generator.integers(0, 3, ROWS)
    truth = {"slope": 0.7, "level": np.array([-1.0, 0.0, 0.5])}
    logits = truth["level"][group] + truth["slope"] * x
    y = generator.random(ROWS) < 1 / (1 + np.exp(-logits))
    (many / "regression.py").write_text(REGRESSION)
    np.savetxt(
        many / "people.csv",
        np.column_stack([x, group, y]),
        fmt=["%.6f", "%d", "%d"],
        delimiter=",",
        header="x,group,y",
        comments="",
    )
    (many / "schema.yaml").write_text(
        "columns: {group: {type: integer}, x: {type: number, bounds: [-4, 4]}}"
    )
    words = (
        f"sample regression.py:model --data people.csv --schema schema.yaml {LEDGER}"
    )
    said = dpmcmc(f"{words} {BUDGET} --out run --yes --json")
    posterior = assert_whole(dpmcmc, many, said)
    stages = [stage.name for stage in posterior.statement.stages]
    assert stages == ["fit", "chain", "check"]
    assert 0.99 < posterior.statement.epsilon <= 1
    assert posterior.statement.verdict is not None
    for name, value in truth.items():
        means = posterior.draws[name].mean(axis=(0, 1))
        np.testing.assert_allclose(means, value, atol=0.4)
