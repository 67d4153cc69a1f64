"""`screen`: a DataFrame in, the same rows with verdicts out."""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING

import pyarrow as pa

from .verdicts import output_schema, verdict_batch
from .worker import ScorerOptions, Versions, check_versions, worker_scorer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def screen(
    df: "DataFrame",
    text: str = "text",
    *,
    id: str | None = None,
    channel: str | None = None,
    task: str | None = None,
    keep: Sequence[str] | None = None,
    findings: bool = False,
    mode: str | None = None,
    model: str | None = None,
    packs: Sequence[str] = (),
    overlays: Sequence[str] = (),
    command: Sequence[str] = ("portcullis",),
    versions: Versions | None = None,
    start_timeout_s: float = 120.0,
    row_timeout_s: float = 120.0,
) -> "DataFrame":
    """Each row's `id` and `keep` columns with the fields of its Verdict.

    `text` is a column of strings; so are `channel`, which says whose words a text is, and `task`, what the user asked the
    agent for, where they are named. `id` and `keep` name columns of any type that are copied; without `keep` every column
    but `text` is. `findings` adds what each rule found, as JSON. A row that can't be screened (no text, no valid UTF-8,
    over 16 MiB) has an `error` and no verdict.

    `mode`, `model`, `packs` and `overlays` are those of `portcullis batch`; the files must be there on every executor.
    `command` starts Portcullis on an executor. Each scorer must have the `versions` given, else its task fails; without
    them an executor is asked now, and all must equal that one.

    A scorer that ends, or gives no answer for `row_timeout_s`, fails its task, and Spark tries the task again.
    """
    from pyspark.sql.types import StringType

    others = [name for name in df.columns if name != text] if keep is None else keep
    kept = list(dict.fromkeys([*([] if id is None else [id]), *others]))
    named = (("text", text), ("channel", channel), ("task", task))
    fields = {field: name for field, name in named if name is not None}
    for name in (*fields.values(), *kept):
        if name not in df.columns:
            raise ValueError(f"there is no column {name!r}")
    for name in fields.values():
        if not isinstance(df.schema[name].dataType, StringType):
            raise ValueError(f"the column {name!r} holds no strings: cast it first")
    schema = output_schema([df.schema[name] for name in kept], findings)
    today = _today() if versions is None else str(versions["today"])
    line = _scorer_command(command, mode, model, packs, overlays, today)
    flags = [part for field in fields if field != "text" for part in (f"--{field}-field", field)]
    options = ScorerOptions((*line, *flags, *(["--findings"] if findings else [])), start_timeout_s, row_timeout_s)
    agreed = _ask(df.sparkSession, options) if versions is None else dict(versions)

    def screen_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        scorer = worker_scorer(options)
        check_versions(scorer.versions, agreed)
        for batch in batches:
            yield verdict_batch(scorer, batch, fields, kept, findings)

    # A text that is kept as well is read from the same column.
    return df.select(*dict.fromkeys([*fields.values(), *kept])).mapInArrow(screen_batches, schema)


def versions_of(
    spark: "SparkSession",
    *,
    mode: str | None = None,
    model: str | None = None,
    packs: Sequence[str] = (),
    overlays: Sequence[str] = (),
    command: Sequence[str] = ("portcullis",),
    today: str | None = None,
    start_timeout_s: float = 120.0,
) -> Versions:
    """The versions that an executor has: to be kept beside a result, and handed to a later `screen`."""
    line = _scorer_command(command, mode, model, packs, overlays, today or _today())
    return _ask(spark, ScorerOptions(line, start_timeout_s, start_timeout_s))


def _today() -> str:
    return datetime.now(timezone.utc).date().isoformat()


def _scorer_command(
    command: Sequence[str],
    mode: str | None,
    model: str | None,
    packs: Sequence[str],
    overlays: Sequence[str],
    today: str,
) -> tuple[str, ...]:
    flags = ["--today", today]
    for name, values in (("mode", [mode]), ("model", [model]), ("pack", packs), ("overlay", overlays)):
        flags += [part for value in values if value is not None for part in (f"--{name}", value)]
    return (*command, "scorer", *flags)


def _ask(spark: "SparkSession", options: ScorerOptions) -> Versions:
    def ask(_: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        versions = worker_scorer(options).versions
        yield pa.RecordBatch.from_pydict({"versions": [json.dumps(versions)]})

    [row] = spark.range(1, numPartitions=1).mapInArrow(ask, "versions string").collect()
    versions: Versions = json.loads(row["versions"])
    return versions
