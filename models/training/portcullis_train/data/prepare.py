"""`prepare`: read the data, leave out what may not be learnt from, plant, tokenise, write one archive."""

import argparse
import json
import random
from collections import Counter
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from ..paths import HERE
from ..text.encode import encode, encode_span, load_tokenizer, pack
from ..text.windows import CONTENT, TASK
from .channels import CHANNEL_NAMES, channel_of, channel_rows, contrast_rows
from .harvest import fetch, harvest
from .inserts import inserted_rows, passages
from .requests import joined_requests
from .rows import Row, allowed, digest, own_digest, own_texts, planted_rows, planted_tasks, read_rows, with_spans
from .vocabulary import build_tokenizer
from .world import planted_world, world_rows

JOINED_REQUESTS = 3000
CONTRAST = 7000


def quick_dev(data: Path, tokenizer: Tokenizer, target: Path, seed: int) -> None:
    """A small dev sample for the training log: at most 40 texts a source and label, a window around the span."""
    rng = random.Random(seed)
    authored = [row for name in ("authored", "authored-2", "authored-3", "authored-4") for row in read_rows(data / f"{name}.jsonl.gz") if row["split"] == "dev"]
    sets = {"dev": read_rows(data / "dev.jsonl.gz"), "authored": authored, "world": read_rows(data / "world-dev.jsonl.gz") + read_rows(data / "world-3-dev.jsonl.gz")}
    kept, names, counts = [], [], Counter()
    for name, rows in sets.items():
        for row in rng.sample(rows, len(rows)):
            key = f"{row['source']}/{row['label']}"
            long = len(str(row["text"])) > 1200 and "span" not in row and row["label"] == "injection" and row["group"] != "jailbreak"
            if counts[key] < 40 and not long:
                counts[key] += 1
                kept.append(row)
                names.append(f"{name} {CHANNEL_NAMES[channel_of(row)]}")
    arrays = encode_rows(kept, tokenizer)
    sequences = []
    for first, end, (span, _) in zip(arrays["offsets"][:-1], arrays["offsets"][1:], arrays["spans"].tolist(), strict=True):
        start = max(0, min(span - 60, end - first - CONTENT)) if span >= 0 else 0
        sequences.append(arrays["ids"][first + start : min(end, first + start + CONTENT)].tolist())
    packed, offsets = pack(sequences)
    np.savez(target, **arrays | {"ids": packed, "offsets": offsets, "groups": np.array(names)})


def encode_rows(rows: list[Row], tokenizer: Tokenizer) -> dict[str, np.ndarray]:
    """The arrays of an archive."""
    sequences, spans = [], []
    for row in rows:
        if "span" in row:
            ids, span = encode_span(tokenizer, str(row["text"]), tuple(row["span"]))
        else:
            ids, span = encode(tokenizer, str(row["text"])), (-1, -1)
        sequences.append(ids)
        spans.append(span)
    ids, offsets = pack(sequences)
    tasks, task_offsets = pack([encode(tokenizer, str(row["task"]))[-TASK:] if row.get("task") else [] for row in rows])
    return {
        "channels": np.array([channel_of(row) for row in rows], np.int8),
        "tasks": tasks,
        "task_offsets": task_offsets,
        "ids": ids,
        "offsets": offsets,
        "spans": np.array(spans, np.int32).reshape(-1, 2),
        "windows": np.full((len(rows), 2), -1, np.int32),
        "labels": np.array([row["label"] == "injection" for row in rows], np.int8),
        "keys": np.array([f"{row['source']}/{row['label']}" for row in rows]),
        "groups": np.array([str(row["group"]) for row in rows]),
    }


def replace_own(stored: dict[str, np.ndarray], fresh: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """An archive with its `own` rows exchanged for others."""
    kept = ~np.char.startswith(stored["keys"], "own ")
    joined = {name: np.concatenate([stored[name][kept], fresh[name]]) for name in ("spans", "windows", "labels", "keys", "groups", "channels")}
    for values, offsets in (("ids", "offsets"), ("tasks", "task_offsets")):
        lengths = np.diff(stored[offsets])
        joined[values] = np.concatenate([stored[values][np.repeat(kept, lengths)], fresh[values]])
        joined[offsets] = np.concatenate([[0], np.cumsum(np.concatenate([lengths[kept], np.diff(fresh[offsets])]))])
    return joined


def write_archive(arrays: dict[str, np.ndarray], work: Path) -> None:
    """Write the archive in one move: a running training reads it at its next round."""
    np.savez(work / "part-train.npz", **arrays)
    (work / "part-train.npz").replace(work / "train.npz")


def main() -> None:
    """Command line of `prepare`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with train.jsonl.gz, authored.jsonl.gz, licences.json")
    parser.add_argument("--work", type=Path, required=True, help="folder for everything that is made")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--all-licences", action="store_true", help="keep the sources that the mixture leaves out")
    parser.add_argument("--keep-tokenizer", action="store_true", help="use the tokenizer that lies in WORK (`multilingual` wrote it)")
    parser.add_argument("--own-only", action="store_true", help="exchange the texts authored here in an archive that exists")
    args = parser.parse_args()

    own = [row for row in own_texts("authored") if row["split"] == "train"]
    written = own_texts("world")
    whole = [row for row in written if row["split"] == "train" and row["kind"] not in {"plant", "keep"}]
    whole += [row for row in own_texts("channel") if row["split"] == "train"] if args.own_only else []
    if args.own_only:
        with np.load(args.work / "train.npz") as stored:
            tokenizer = load_tokenizer(args.work / "tokenizer.json")
            write_archive(replace_own(dict(stored), encode_rows(own + whole, tokenizer)), args.work)
        record = json.loads((args.work / "prepare.json").read_text())
        others = {key: count for key, count in record["rows"].items() if not key.startswith("own ")}
        fresh = Counter(f"{row['source']}/{row['label']}" for row in own + whole)
        record["rows"] = dict(sorted((others | fresh).items()))
        record["own_sha256"] = own_digest()
        (args.work / "prepare.json").write_text(json.dumps(record, indent=1) + "\n")
        return

    mixture = json.loads((HERE / "mixture.json").read_text())
    licences = json.loads((args.data / "licences.json").read_text())
    excluded = set() if args.all_licences else set(mixture["excluded_classes"])
    rows = allowed(read_rows(args.data / "train.jsonl.gz"), licences, excluded, set(mixture["excluded_sources"]))
    rows += [row for row in read_rows(args.data / "authored.jsonl.gz") if row["split"] == "train"]
    rows += own
    world = with_spans(world_rows(args.data) + channel_rows(args.data, excluded))
    rows += own_texts("translated")
    rows += harvest(fetch(HERE / "packages.txt", args.work / "sources"), args.seed)
    rows += planted_rows(rows, mixture["planted"], args.seed) + planted_tasks(rows, mixture["planted_tasks"], args.seed)
    rows += inserted_rows(rows, passages(), mixture["inserted"], args.seed)
    rows += world + planted_world(world, written, args.seed) + whole
    rows += contrast_rows(rows, CONTRAST, args.seed)
    rows += joined_requests(rows, JOINED_REQUESTS, args.seed)

    args.work.mkdir(parents=True, exist_ok=True)
    if not args.keep_tokenizer:
        build_tokenizer(args.work / "tokenizer.json")
    tokenizer = load_tokenizer(args.work / "tokenizer.json")
    quick_dev(args.data, tokenizer, args.work / "dev-quick.npz", args.seed)
    arrays = encode_rows(rows, tokenizer)
    write_archive(arrays, args.work)
    record = {
        "data_sha256": digest([args.data / name for name in ("train.jsonl.gz", "authored.jsonl.gz", "world-train.jsonl.gz", "authored-2.jsonl.gz", "authored-3.jsonl.gz", "authored-4.jsonl.gz", "world-3-train.jsonl.gz")]),
        "own_sha256": own_digest(),
        "excluded_classes": sorted(excluded),
        "rows": dict(sorted(Counter(f"{row['source']}/{row['label']}" for row in rows).items())),
        "tokens": len(arrays["ids"]),
        "seed": args.seed,
    }
    (args.work / "prepare.json").write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps({key: record[key] for key in ("tokens", "data_sha256", "own_sha256")}))


if __name__ == "__main__":
    main()
