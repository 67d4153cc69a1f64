"""The authored texts: pairs share a split, spans are exact, nothing stands twice."""

import random
from pathlib import Path

from portcullis_train.data.authored import parse
from portcullis_train.data.rows import plant

FILES = sorted((Path(__file__).parent.parent / "data" / "authored").glob("*.txt"))


def test_parse(tmp_path: Path) -> None:
    path = tmp_path / "sample-1.txt"
    path.write_text("@de\ni d Eins\nb h Zwei\ni e A\\n⟦b⟧ c\n", "utf-8")
    rows = parse(path)
    assert [(row["label"], row["pair"], row["lang"]) for row in rows] == [
        ("injection", "sample-1:001", "de"),
        ("benign", "sample-1:001", "de"),
        ("injection", "sample-1:002", "de"),
    ]
    assert rows[2]["text"] == "A\nb c" and rows[2]["span"] == [2, 3]


def test_texts_are_distinct_and_pairs_keep_a_split() -> None:
    rows = [row for path in FILES for row in parse(path)]
    texts = [row["text"] for row in rows]
    assert len(texts) == len(set(texts))
    splits = {(row["pair"], row["split"]) for row in rows}
    assert len(splits) == len({pair for pair, _ in splits})
    assert {row["label"] for row in rows} == {"injection", "benign"}


def test_plant_tells_where() -> None:
    rng = random.Random(1)
    for _ in range(200):
        text, (start, end) = plant("First line.\nSecond one. Third.", "Planted here", rng)
        assert "Planted here" in text[start:end]
        assert text[:start].rstrip() + text[end:].lstrip() != text
