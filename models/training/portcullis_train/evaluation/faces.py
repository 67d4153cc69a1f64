"""`faces`: recall on the attacks of world-dev that are attacks on their face.

Two readers who saw neither source, label nor verdict said of 403 texts whether the words themselves show an attack (`attack`), may be one in some place (`unclear`), or
show none (`none`): every attack that rules and model 2.3.0 missed, up to 15 found ones of each source, and 40 benign texts (`record/world-dev-faces.tsv`, by the text's
sha256). The missed ones are known one by one; of those found, the sample's shares stand for all.

    portcullis batch world-dev.jsonl.gz --out verdicts.jsonl --mode hybrid
    python -m portcullis_train.evaluation.faces --data DATA --verdicts verdicts.jsonl
"""

import argparse
import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from ..data.rows import Row, read_rows
from ..paths import HERE

FACES = HERE / "record" / "world-dev-faces.tsv"


def read_faces(path: Path) -> dict[str, str]:
    """What the readers said, by the first 16 digits of the text's sha256."""
    return dict(line.split("\t") for line in path.read_text().splitlines())


def face_of(text: str, faces: dict[str, str]) -> str | None:
    """What the readers said of a text; nothing where they did not see it."""
    return faces.get(hashlib.sha256(text.encode()).hexdigest()[:16])


def recall_on_face(rows: Iterable[Row], blocked: Iterable[bool], faces: dict[str, str]) -> dict[str, tuple[float, float]]:
    """By source: recall on all attacks, and on those that are attacks on their face."""
    seen: dict[str, dict[bool, Counter[str | None]]] = defaultdict(lambda: {True: Counter(), False: Counter()})
    for row, block in zip(rows, blocked, strict=True):
        if row["label"] == "injection":
            seen[str(row["source"])][block][face_of(str(row["text"]), faces)] += 1
    result = {}
    for source, parts in sorted(seen.items()):
        clear = {}
        for block, faces_seen in parts.items():
            read = faces_seen.total() - faces_seen[None]
            clear[block] = faces_seen.total() * faces_seen["attack"] / max(1, read)
        result[source] = (parts[True].total() / (parts[True].total() + parts[False].total()), clear[True] / max(1e-9, clear[True] + clear[False]))
    return result


def main() -> None:
    """Command line of `faces`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--verdicts", type=Path, required=True, help="what `portcullis batch` wrote for world-dev")
    args = parser.parse_args()
    rows = read_rows(args.data / "world-dev.jsonl.gz")
    blocked = [json.loads(line)["verdict"] == "block" for line in args.verdicts.read_text().splitlines()]
    benign = [block for row, block in zip(rows, blocked, strict=True) if row["label"] == "benign"]
    found = recall_on_face(rows, blocked, read_faces(FACES))
    for source, (whole, clear) in found.items():
        print(f"{source:24} {whole:6.1%} {clear:6.1%}")
    print(f"{'mean of sources':24} {np.mean([one for one, _ in found.values()]):6.1%} {np.mean([one for _, one in found.values()]):6.1%}; of benign texts blocked {np.mean(benign):.1%}")


if __name__ == "__main__":
    main()
