"""`not_english`: weights against one another on texts in other languages that no weights have learnt. For choosing, fp32 or bf16, all windows.

Weights are named by their path, WORK/runs/RUN/weights.pt; each is run with its own work folder's tokenizer. Those joined by `+` are judged by the sum of
their logits: in each window where they share a tokenizer (an encoder and its n-grams), of whole texts otherwise.

Five sets: the dev parts of the authored texts (`authored`), of the texts of this project (`own`), the texts of dev and world-dev (`dev`; `Turkish` is one source of it), and
`data/blind.jsonl`. Thresholds are those that block 1, 2 and 5 % of the benign texts of `dev` and `blind` and of the calibration texts together.

    python -m portcullis_train.evaluation.not_english --data DATA WORK/runs/s5/weights.pt+WORK/runs/ng2/weights.pt WORK2/runs/m1/weights.pt

`--write FILE` writes the texts for `portcullis eval FILE`, which measures rules and model together: the source is the set.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import torch

from ..data.devset import Item, calibration_items, item_of
from ..data.rows import Row, own_texts, read_rows
from ..scoring.metrics import auc
from ..training.train import quick_scores
from .trial import greatest_of, load, windows_of

SHARES = (0.01, 0.02, 0.05)
TURKISH = "turkish_corpus"


def other_languages(data: Path) -> dict[str, list[Item]]:
    """The sets, English texts left out."""
    written = [row for row in own_texts("world") if row["kind"] in {"attack", "benign"}]
    rows: dict[str, list[Row]] = {
        "authored": [row for name in ("authored", "authored-2") for row in read_rows(data / f"{name}.jsonl.gz") if row["split"] == "dev"],
        "own": [row for row in own_texts("authored") + written if row["split"] == "dev"],
        "dev": read_rows(data / "dev.jsonl.gz") + read_rows(data / "world-dev.jsonl.gz"),
        "blind": own_texts("blind"),
    }
    sets = {name: [item_of(row) for row in part if row["lang"] != "en"] for name, part in rows.items()}
    return sets | {"calibration": [item for item in calibration_items() if item.lang != "en"]}


def work_of(weights: Path) -> Path:
    """The work folder of WORK/runs/RUN/FILE."""
    return weights.parent.parent.parent


def text_logits(paths: list[Path], sets: dict[str, list[Item]]) -> dict[str, np.ndarray]:
    """The greatest window logit of each text; those of different work folders are added by text."""
    total = {name: np.zeros(len(items)) for name, items in sets.items()}
    for work in sorted({work_of(path) for path in paths}):
        nets = [load(path) for path in paths if work_of(path) == work]
        for name, items in sets.items():
            samples, texts = windows_of(work / "tokenizer.json", items)
            logits = np.sum([quick_scores(net, samples, torch.device("cpu")) for net in nets], axis=0)
            total[name] += greatest_of(logits, texts)
    return total


def figures(logits: dict[str, np.ndarray], sets: dict[str, list[Item]]) -> list[str]:
    """The area under the curve of each set; recall and false positives at each threshold."""
    labels = {name: np.array([item.positive for item in items]) for name, items in sets.items()}
    budget = np.concatenate([logits[name][~labels[name]] for name in ("calibration", "dev", "blind")])
    named = [name for name in sets if name != "calibration"]
    lines = ["AUC " + ", ".join(f"{name} {auc(logits[name], labels[name]):.3f}" for name in named)]
    for share in SHARES:
        threshold = np.quantile(budget, 1 - share)
        parts = {name: (logits[name] >= threshold, labels[name]) for name in named}
        turkish = np.array([item.source == TURKISH for item in sets["dev"]])
        parts["Turkish"] = (parts["dev"][0][turkish], labels["dev"][turkish])
        lines.append(f"{share:.0%}: " + ", ".join(f"{name} {hit[label].mean():.0%} / {hit[~label].mean():.0%}" for name, (hit, label) in parts.items()))
    return lines


def write_texts(sets: dict[str, list[Item]], target: Path) -> None:
    """The texts with their labels as JSON Lines."""
    with target.open("w") as out:
        for name, items in sets.items():
            for item in items:
                row = {"text": item.text, "label": "injection" if item.positive else "benign", "source": name, "group": item.source, "language": item.lang}
                out.write(json.dumps(row) + "\n")


def main() -> None:
    """Command line of `not_english`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--write", type=Path, help="write the texts here, too")
    parser.add_argument("weights", nargs="*", help="WORK/runs/RUN/weights.pt, or several joined by +")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    sets = other_languages(args.data)
    if args.write:
        write_texts(sets, args.write)
    for group in args.weights:
        print(group, *figures(text_logits([Path(path) for path in group.split("+")], sets), sets), sep="\n  ", flush=True)


if __name__ == "__main__":
    main()
