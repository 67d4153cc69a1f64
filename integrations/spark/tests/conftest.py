import json
import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[3]
COMMAND = tuple(shlex.split(os.environ.get("PORTCULLIS_COMMAND", f"node {ROOT / 'dist' / 'cli' / 'main.js'}")))

# The executors are processes of their own, with this very Python and the module installed in it.
os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ["SPARK_HOME"] = os.path.dirname(pyspark.__file__)
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Two executors of one core, in processes that can be killed."""
    session = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "500")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def texts() -> list[str]:
    """Attacks and honest texts, as they stand in this repository."""
    lines = (ROOT / "test" / "regression" / "attacks.jsonl").read_text().splitlines()
    attacks = [json.loads(line)["text"] for line in lines]
    honest = (ROOT / "README.md").read_text().split("\n\n")
    return [text for pair in zip(attacks, honest * (len(attacks) // len(honest) + 1)) for text in pair]
