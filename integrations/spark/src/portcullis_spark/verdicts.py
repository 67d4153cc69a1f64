"""The columns that a Verdict becomes."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from .scorer import Scorer

if TYPE_CHECKING:
    from pyspark.sql.types import StructField, StructType

_VERDICT: tuple[tuple[str, pa.DataType], ...] = (
    ("verdict", pa.string()),
    ("confidence", pa.float64()),
    ("rule", pa.string()),
    ("reason", pa.string()),
    ("rules_version", pa.string()),
    ("evidence_id", pa.string()),
    ("latency_ms", pa.int64()),
    ("score", pa.float64()),
    ("threshold", pa.float64()),
    ("decided_by", pa.string()),
    ("ml_version", pa.string()),
    ("ml_threshold", pa.float64()),
    ("mode", pa.string()),
)


def _own(findings: bool) -> tuple[tuple[str, pa.DataType], ...]:
    return (*_VERDICT, *((("findings", pa.string()),) if findings else ()), ("error", pa.string()))


def output_schema(kept: "Sequence[StructField]", findings: bool) -> "StructType":
    """The columns of `verdict_batch`. Raises a `ValueError` where a kept one has the name of one of ours."""
    from pyspark.sql.types import DoubleType, LongType, StringType, StructField, StructType

    own = _own(findings)
    taken = {name for name, _ in own} & {field.name for field in kept}
    if taken:
        raise ValueError(f"the output has a column {min(taken)!r} of its own: rename yours, or leave it out")
    types = {pa.string(): StringType(), pa.float64(): DoubleType(), pa.int64(): LongType()}
    return StructType([*kept, *(StructField(name, types[of], True) for name, of in own)])


def verdict_batch(
    scorer: Scorer, batch: pa.RecordBatch, fields: Mapping[str, str], kept: Sequence[str], findings: bool
) -> pa.RecordBatch:
    """The kept columns as they are, and the verdicts. `fields`: columns by the field of a row that each becomes."""
    texts = _texts(batch.column(fields["text"]))
    facts = {name: _texts(batch.column(column)) for name, column in fields.items() if name != "text"}
    rows = [
        {"text": text, **{name: value for name, values in facts.items() if isinstance(value := values[at], str)}}
        for at, text in enumerate(texts)
        if isinstance(text, str)
    ]
    try:
        scored = list(scorer.score(rows))
    except BaseException:
        # A task that is called off between two answers must not leave them to the next one.
        scorer.close()
        raise
    rest = iter(scored)
    answers = [next(rest) if isinstance(text, str) else {"error": text.error} for text in texts]
    if findings:
        for answer in answers:
            if "findings" in answer:
                answer["findings"] = json.dumps(answer["findings"], ensure_ascii=False)
    own = _own(findings)
    arrays = [batch.column(name) for name in kept]
    arrays += [pa.array([answer.get(name) for answer in answers], of) for name, of in own]
    return pa.RecordBatch.from_arrays(arrays, [*kept, *(name for name, _ in own)])


@dataclass(frozen=True)
class _NoText:
    error: str


def _texts(column: pa.Array) -> list[str | _NoText]:
    try:
        contents: list[str | bytes | None] = column.to_pylist()
    except UnicodeDecodeError:
        # Spark doesn't check that its strings are UTF-8.
        contents = column.cast(pa.large_binary()).to_pylist()
    return [_text(content) for content in contents]


def _text(content: str | bytes | None) -> str | _NoText:
    if content is None:
        return _NoText("no text")
    if isinstance(content, str):
        return content
    try:
        return content.decode()
    except UnicodeDecodeError:
        return _NoText("not valid UTF-8")
