"""`evaluate`: figures of the shipped file on dev, by set, group and language; a JSON record and the card's table."""

import hashlib
import json
import random
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..data.channels import CHANNEL_NAMES, UNKNOWN, may_be_learnt
from ..data.devset import WORLD_DEV, Item, channel_items, dev_items
from ..data.rows import digest, own_digest, read_rows
from ..scoring.arguments import model_parser
from ..scoring.calibration import judged_by, rate_of
from ..scoring.metrics import auc, recall_at, wilson
from ..scoring.protocol import curve, left_out, mean_rate
from ..scoring.score import Asked, Scored, key_of, score_all
from ..text.encode import encode_span, load_tokenizer

LONG_CHARACTERS = (1_000, 50_000)
LONG_TEXTS = 30


def rates(hit: np.ndarray) -> dict[str, object]:
    """Share of blocked texts with its Wilson interval."""
    low, high = wilson(int(hit.sum()), len(hit))
    return {"n": len(hit), "blocked": int(hit.sum()), "rate": round(float(hit.mean()), 4), "low": round(low, 4), "high": round(high, 4)}


def table(items: list[Item], hit: np.ndarray, key: str) -> dict[str, dict[str, object]]:
    """Rates by a field of the items and by label."""
    cells: dict[str, list[int]] = defaultdict(list)
    for index, item in enumerate(items):
        cells[f"{getattr(item, key)}/{'injection' if item.positive else 'benign'}"].append(index)
    return {name: rates(hit[indices]) for name, indices in sorted(cells.items())}


def ranking(score: np.ndarray, positive: np.ndarray) -> dict[str, float]:
    """AUC and recall at three false-positive budgets."""
    figures = {"n": len(score), "auc": round(auc(score, positive), 4)}
    return figures | {f"recall_at_{budget}": round(recall_at(score, positive, budget), 4) for budget in (0.005, 0.01, 0.02)}


def macro(cells: dict[str, dict[str, object]], label: str, authored: bool) -> float:
    """Mean rate over the sets of a label, sets of one text left out."""
    rates_of = [
        cell["rate"]
        for name, cell in cells.items()
        if name.endswith("/" + label) and name.startswith(("authored ", "own ")) == authored and cell["n"] > 1
    ]
    return round(float(np.mean(rates_of)), 4)


def world_rates(items: list[Item], hit: np.ndarray) -> dict[str, float]:
    """Recall and false positives on world-dev, each the mean over its sources."""
    inside = [index for index, item in enumerate(items) if item.source in WORLD_DEV]
    positive, sources = (np.array([getattr(items[index], field) for index in inside]) for field in ("positive", "source"))
    blocked = hit[inside]
    return {
        "recall": round(mean_rate(blocked[positive], sources[positive]), 4),
        "false_positives": round(mean_rate(blocked[~positive], sources[~positive]), 4),
    }


def channel_rates(told: list[Item], scores: dict[str, Scored], manifest: dict, channel: int) -> dict[str, object]:
    """Of the texts of a channel, judged with channel and task: ranking, and at each of its operating points the rates by source and their means."""
    items, part = [item for item in told if item.channel == channel], judged_by(manifest, channel)
    rate = np.array([rate_of(scores[key_of(item)], part["calibration"]) for item in items])
    positive, sources = np.array([item.positive for item in items]), np.array([item.source for item in items])
    points: dict[str, object] = {}
    for name, point in part["operating_points"].items():
        hit = rate >= point["threshold"]
        figures = {"recall": mean_rate(hit[positive], sources[positive]), "false_positives": mean_rate(hit[~positive], sources[~positive])}
        points[name] = {"threshold": point["threshold"]} | {key: round(value, 4) for key, value in figures.items()} | {"source": table(items, hit, "source")}
    return {"ranking": ranking(rate, positive), "operating_points": points}


def localisation(items: list[Item], scores: dict[str, Scored], model: Path) -> dict[str, object]:
    """How often the token with the greatest logit lies inside the known span."""
    tokenizer = load_tokenizer(model / "tokenizer.json")
    hits = []
    for item in items:
        if item.span:
            _, (start, end) = encode_span(tokenizer, item.text, item.span)
            hits.append(start <= scores[key_of(item)].token < end)
    return rates(np.array(hits))


def long_texts(items: list[Item], count: int) -> dict[int, list[tuple[str, bool]]]:
    """The same planted passages in 1,000 and in 50,000 characters of benign dev text, and the benign text alone."""
    rng = random.Random(5)
    hosts = [item.text for item in items if item.budgeted and item.group in {"document", "email", "code"}]
    inserts = sorted({item.text[item.span[0] : item.span[1]] for item in items if item.span and item.lang == "en"})
    inserts = [one for one in rng.sample(inserts, len(inserts)) if 30 <= len(one) <= 400][:count]
    result: dict[int, list[tuple[str, bool]]] = {}
    for size in LONG_CHARACTERS:
        result[size] = []
        for insert in inserts:
            parts: list[str] = []
            while sum(len(part) for part in parts) < size:
                parts.append(rng.choice(hosts)[: size // 2])
            host = "\n\n".join(parts)[:size]
            at = host.rfind("\n", 0, rng.randrange(1, len(host))) + 1
            result[size] += [(host, False), (host[:at] + insert + "\n" + host[at:], True)]
    return result


def main() -> None:
    """Command line of `evaluate`."""
    args = model_parser(__doc__).parse_args()

    manifest = json.loads((args.model / "manifest.json").read_text())
    told = dev_items(args.data, args.limit) + channel_items(args.data)
    # The call without a channel: all figures but those by channel.
    items = [replace(item, channel=UNKNOWN, task="") for item in dev_items(args.data, args.limit)]
    long = long_texts(items, min(LONG_TEXTS, args.limit or LONG_TEXTS))
    asked = [*items, *told, *(Asked(text) for pairs in long.values() for text, _ in pairs)]
    scores = score_all(args.model / "model.onnx", asked, args.work, args.workers)
    rate = np.array([rate_of(scores[key_of(item)], manifest["calibration"]) for item in items])
    positive = np.array([item.positive for item in items])
    own = np.array([item.authored for item in items])
    foreign = np.array([item.lang != "en" for item in items])
    world = np.array([item.source in WORLD_DEV for item in items])
    generated = np.array([item.generated for item in items])
    points = {}
    for name, point in manifest["operating_points"].items():
        hit = rate >= point["threshold"]
        by_source = table(items, hit, "source")
        points[name] = {
            "threshold": point["threshold"],
            "recall_mean_of_sources": macro(by_source, "injection", authored=False),
            "false_positives_mean_of_sources": macro(by_source, "benign", authored=False),
            "authored_recall_mean_of_sources": macro(by_source, "injection", authored=True),
            "authored_false_positives_mean_of_sources": macro(by_source, "benign", authored=True),
            "world": world_rates(items, hit),
            "all": {"injection": rates(hit[positive]), "benign": rates(hit[~positive])},
            "not_english": {"injection": rates(hit[positive & foreign]), "benign": rates(hit[~positive & foreign])},
            "source": by_source,
            "group": table(items, hit, "group"),
            "lang": table(items, hit, "lang"),
        }
        for size, pairs in long.items():
            long_rate = np.array([rate_of(scores[key_of(Asked(text))], manifest["calibration"]) for text, _ in pairs])
            blocked = long_rate >= point["threshold"]
            planted = np.array([label for _, label in pairs])
            points[name][f"buried_in_{size}"] = {"injection": rates(blocked[planted]), "benign": rates(blocked[~planted])}
    world_items = [item for item, inside in zip(items, world, strict=True) if inside]
    record = {
        "model": manifest["files"]["model.onnx"]["sha256"],
        "limit_per_source_and_label": args.limit,
        "dev_sha256": digest([args.data / name for name in ("dev.jsonl.gz", "world-dev.jsonl.gz", "authored.jsonl.gz", "authored-2.jsonl.gz", "authored-3.jsonl.gz", "authored-4.jsonl.gz", "world-3-dev.jsonl.gz")]),
        "own_sha256": own_digest(),
        "world": {"recall_at": curve(rate[world], world_items), "left_out_at_1": left_out(rate[world], world_items, 0.01)},
        "ranking": {
            "world": ranking(rate[world], positive[world]),
            "dev": ranking(rate[~own & ~world & ~generated], positive[~own & ~world & ~generated]),
            "authored": ranking(rate[own], positive[own]),
            "not_english": ranking(rate[foreign], positive[foreign]),
        },
        "localisation": localisation(items, scores, args.model),
        "channels": {CHANNEL_NAMES[channel]: channel_rates(told, scores, manifest, channel) for channel in range(1, len(CHANNEL_NAMES))},
        "operating_points": points,
    }
    text = json.dumps(record, indent=1, sort_keys=True) + "\n"
    (args.model / "evaluation.json").write_text(text)
    chosen = points[manifest["operating_point"]]
    manifest["metrics"] = {
        "record": hashlib.sha256(text.encode()).hexdigest(),
        "dev_auc": record["ranking"]["dev"]["auc"],
        "recall_mean_of_sources": chosen["recall_mean_of_sources"],
        "false_positives_mean_of_sources": chosen["false_positives_mean_of_sources"],
    }
    (args.model / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
    figures = card(record, manifest["operating_point"])
    if (args.model / "README.md").exists():
        fill(args.model / "README.md", "figures", "end", figures)
        prepared = json.loads((args.work / "prepare-used.json").read_text())
        licences = json.loads((args.data / "licences.json").read_text()) | row_licences(args.data, set(prepared["excluded_classes"]))
        fill(args.model / "README.md", "sources", "end sources", source_table(prepared["rows"], licences))
    print(figures)


def rate_text(cell: dict) -> str:
    """A rate with its interval and number."""
    return f"{cell['rate']:.1%} ({cell['low']:.1%} – {cell['high']:.1%}, n = {cell['n']})"


def card(record: dict, name: str) -> str:
    """The figures of the model card, in Markdown."""
    lines = ["| Operating point | world-dev: recall | world-dev: false positives | All sources: recall | false positives | Authored: recall | false positives |"]
    lines.append("| - | -: | -: | -: | -: | -: | -: |")
    fields = ("recall_mean_of_sources", "false_positives_mean_of_sources", "authored_recall_mean_of_sources", "authored_false_positives_mean_of_sources")
    for point, found in record["operating_points"].items():
        rates_of = [found["world"]["recall"], found["world"]["false_positives"], *(found[field] for field in fields)]
        lines.append(f"| {point} | " + " | ".join(f"{rate:.1%}" for rate in rates_of) + " |")
    recalls = ", ".join(f"{recall:.1%} at {budget}" for budget, recall in record["world"]["recall_at"].items())
    lines += ["", f"world-dev, recall as the mean over sources: {recalls} false positives. With the threshold chosen on half of the benign sources at 1 %: recall {record['world']['left_out_at_1'][0]:.1%}, false positives on the other half {record['world']['left_out_at_1'][1]:.1%}."]
    lines += ["", "| Ranking | n | AUC | Recall at 0.5 % | at 1 % | at 2 % false positives |", "| - | -: | -: | -: | -: | -: |"]
    for part, found in record["ranking"].items():
        recalls = " | ".join(f"{found[f'recall_at_{budget}']:.1%}" for budget in (0.005, 0.01, 0.02))
        lines.append(f"| {part} | {found['n']} | {found['auc']:.3f} | {recalls} |")
    lines += ["", "With the channel given (and the task where it is known), mean over the sources of 20 texts or more:", ""]
    lines += ["| Channel | AUC | strict: recall | false positives | balanced: recall | false positives | permissive: recall | false positives |", "| - | -: | -: | -: | -: | -: | -: | -: |"]
    for channel, found in record["channels"].items():
        rates_of = [found["operating_points"][point][field] for point in ("strict", "balanced", "permissive") for field in ("recall", "false_positives")]
        lines.append(f"| {channel} | {found['ranking']['auc']:.3f} | " + " | ".join(f"{rate:.1%}" for rate in rates_of) + " |")
    chosen = record["operating_points"][name]
    lines += ["", f"Without a channel, at `{name}`, with 95 % Wilson intervals:", ""]
    lines.append(f"- not English: attacks blocked {rate_text(chosen['not_english']['injection'])}, benign {rate_text(chosen['not_english']['benign'])}")
    for size in LONG_CHARACTERS:
        cell = chosen[f"buried_in_{size}"]
        lines.append(f"- passage in {size:,} characters of benign text: blocked {rate_text(cell['injection'])}; the benign text alone {rate_text(cell['benign'])}")
    lines.append(f"- surest token inside the known passage: {rate_text(record['localisation'])}")
    if record["limit_per_source_and_label"]:
        lines.append(f"- measured on at most {record['limit_per_source_and_label']} texts a source and label")
    lines += ["", "| Set | Label | n | Blocked | 95 % interval |", "| - | - | -: | -: | - |"]
    lines += source_rows(chosen["source"])
    for channel, found in record["channels"].items():
        lines += ["", f"Channel {channel}, at `{name}`:", "", "| Set | Label | n | Blocked | 95 % interval |", "| - | - | -: | -: | - |"]
        lines += source_rows(found["operating_points"][name]["source"])
    return "\n".join(lines)


def source_rows(cells: dict) -> list[str]:
    """Table rows of the rates by source and label."""
    split = [(*key.rsplit("/", 1), cell) for key, cell in cells.items()]
    return [f"| {source} | {label} | {cell['n']} | {cell['rate']:.1%} | {cell['low']:.1%} – {cell['high']:.1%} |" for source, label, cell in split]


def row_licences(data: Path, excluded: set[str]) -> dict[str, dict[str, str]]:
    """Licences of the sources whose rows name one each, as `licences.json` names those of the others."""
    found: dict[str, set[str]] = defaultdict(set)
    for row in read_rows(data / "world-3-train.jsonl.gz"):
        if may_be_learnt(row, excluded):
            found[str(row["source"])].add(str(row["licence"]))
    return {source: {"licence": ", ".join(sorted(names))} for source, names in found.items()}


def source_table(rows: dict[str, int], licences: dict) -> str:
    """What training saw, by source and licence."""
    cells: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for key, count in rows.items():
        source, label = key.rsplit("/", 1)
        cells[source][label == "benign"] += count
    own = {"package files": "BSD, MIT, Apache-2.0", "package strings": "BSD, MIT, Apache-2.0"}
    lines = ["| Source | Licence | Attacks | Benign |", "| - | - | -: | -: |"]
    for source, (attacks, benign) in sorted(cells.items()):
        licence = own.get(source) or licences.get(source, {}).get("licence", "project licence")
        lines.append(f"| {source} | {licence} | {attacks} | {benign} |")
    return "\n".join(lines)


def fill(path: Path, mark: str, end: str, text: str) -> None:
    """Put `text` between two marks of the model card."""
    stored = path.read_text()
    before, rest = stored.split(f"<!-- {mark} -->\n")
    path.write_text(before + f"<!-- {mark} -->\n" + text + "\n" + rest[rest.index(f"<!-- {end} -->") :])


if __name__ == "__main__":
    main()
