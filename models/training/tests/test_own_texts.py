"""The texts of this project: fields and values as `data/README.md` documents them, pairs share a split, nothing stands twice."""

import json
import random
from collections import Counter, defaultdict
from itertools import pairwise

import pytest

from portcullis_train.data.channels import CHANNEL_NAMES
from portcullis_train.data.rows import own_file, own_texts, plant
from portcullis_train.paths import HERE

README = (HERE / "data" / "README.md").read_text("utf-8")
# Fields that every row has, and those that some have.
FIELDS = {
    "authored": ("label source group pair split lang text", "span"),
    "translated": ("label source group pair lang text", ""),
    "inserts": ("label family split lang text", ""),
    "world": ("label source group kind split lang text", ""),
    "channel": ("label source group kind pair split lang channel text", "task span"),
    "requests": ("kind text", ""),
    "tasks": ("kind text", ""),
    "calibration": ("label source group lang channel text", ""),
    "blind": ("label source group lang text", ""),
    "spans": ("text_sha256 span", ""),
}
VALUES = {"label": {"injection", "benign"}, "split": {"train", "dev"}, "channel": set(CHANNEL_NAMES)}
KINDS = {"world": {"attack", "benign", "plant", "keep", "host"}, "requests": {"opener", "ask"}, "tasks": {"reading", "delegating"}}
# Those that training learns from and evaluation keeps a part of.
SPLIT = ("authored", "inserts", "world", "channel")


@pytest.mark.parametrize("name", FIELDS)
def test_rows_have_the_documented_fields(name: str) -> None:
    required, optional = (fields.split() for fields in FIELDS[name])
    wrong = []
    for number, row in enumerate(own_texts(name), 1):
        unknown = row.keys() - {*required, *optional}
        missing = {field for field in required if not row.get(field)}
        values = [field for field in VALUES if field in row and row[field] not in VALUES[field]]
        texts = [field for field in row.keys() - {"span"} if not isinstance(row[field], str)]
        if unknown or missing or values or texts or row.get("kind") not in KINDS.get(name, {row.get("kind")}):
            wrong.append((number, unknown, missing, values, texts))
    assert not wrong[:5]
    assert all(f"`{field}`" in README for field in [*required, *optional]) and f"`{name}.jsonl`" in README


@pytest.mark.parametrize("name", FIELDS)
def test_lines_are_written_one_way(name: str) -> None:
    """Readable in a diff: one object a line, characters unescaped."""
    lines = own_file(name).read_text("utf-8").split("\n")
    assert lines.pop() == ""
    assert [number for number, line in enumerate(lines, 1) if json.dumps(json.loads(line), ensure_ascii=False) != line][:5] == []


@pytest.mark.parametrize("name", ["authored", "channel", "spans"])
def test_spans_lie_in_their_text_and_mark_attacks(name: str) -> None:
    for row in own_texts(name):
        if "span" in row:
            start, end = row["span"]
            assert 0 <= start < end <= len(row.get("text", "x" * end)), row
            assert row.get("label", "injection") == "injection", row


@pytest.mark.parametrize("name", ["authored", "translated", "world", "blind", "calibration", "requests", "tasks"])
def test_no_text_stands_twice(name: str) -> None:
    assert [text for text, count in Counter(row["text"] for row in own_texts(name)).items() if count > 1] == []


@pytest.mark.parametrize("name", SPLIT)
def test_about_an_eighth_is_kept_from_training(name: str) -> None:
    rows = own_texts(name)
    assert 1 / 10 < sum(row["split"] == "dev" for row in rows) / len(rows) < 1 / 6


def test_pairs_share_a_split_and_authored_ones_stand_together() -> None:
    for name in ("authored", "channel"):
        splits = defaultdict(set)
        for row in own_texts(name):
            splits[row["pair"]].add(row["split"])
        assert [pair for pair, found in splits.items() if len(found) > 1] == []
    rows = own_texts("authored")
    blocks = [rows[0]["pair"], *(second["pair"] for first, second in pairwise(rows) if first["pair"] != second["pair"])]
    assert len(blocks) == len(set(blocks))
    # A pair is named after its source and counted; every eighth is dev.
    for row in rows:
        batch, number = row["pair"].split(":")
        assert row["source"] == f"own {batch.rsplit('-', 1)[0]}" and row["split"] == ("dev" if int(number) % 8 == 0 else "train"), row["pair"]


def test_labels_follow_family_and_kind() -> None:
    for row in own_texts("inserts"):
        assert (row["label"] == "injection") == row["family"].startswith(("a-", "xx-a")), row
    for row in own_texts("world"):
        assert (row["label"] == "injection") == (row["kind"] in {"attack", "plant"}), row


def test_plant_tells_where() -> None:
    rng = random.Random(1)
    for _ in range(200):
        text, (start, end) = plant("First line.\nSecond one. Third.", "Planted here", rng)
        assert "Planted here" in text[start:end]
        assert text[:start].rstrip() + text[end:].lstrip() != text
