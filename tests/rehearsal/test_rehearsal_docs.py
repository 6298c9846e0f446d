# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What the page on rehearsals shows is what happens."""

import re
from pathlib import Path

from dpmcmc.rehearsal.rehearse import Rehearsal

PAGE = (Path(__file__).parents[2] / "docs" / "rehearsal.md").read_text("utf-8")


def test_the_page_runs_and_explains_every_column() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    quick = code.replace("20_000", "2_000").replace(
        "epsilon=4.0", "epsilon=4.0, runs=1, progress=False"
    )
    names: dict[str, object] = {}
    exec(quick, names)
    rehearsal = names["rehearsal"]
    assert isinstance(rehearsal, Rehearsal)
    tried = [trial.method for trial in rehearsal.trials]
    assert tried == ["default", "wide clip", "narrow clip"]
    header = str(rehearsal).split("\n\n")[1].splitlines()[0]
    columns = re.split(r"\s{2,}", header.strip())
    assert re.findall(r"^\| ([a-z ]+) \|", PAGE, re.M)[1:] == columns
