"""`calibrate`: probability from logit and number of windows, and the thresholds, chosen on the int8 file on world-dev, dev and `data/calibration.jsonl`."""

import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..data.channels import ENGINE_CHANNELS, UNKNOWN
from ..data.devset import WORLD_DEV, Item, channel_items, dev_items, first_of_each
from ..paths import HERE
from ..scoring.arguments import model_parser
from ..scoring.calibration import (
    BUDGETS,
    CHANNEL_CLEARS_BELOW,
    CLEARS_BELOW,
    PER_WINDOW,
    RULES_WEIGHT,
    SURE,
    calibration_error,
    doubt,
    fit,
    judged_by,
    probability,
    rate_of,
    worst_window,
)  # fmt: skip
from ..scoring.protocol import curve, left_out, threshold_for
from ..scoring.score import Scored, Scorer, encode, key_of, score_all
from ..text.windows import window_starts
from .export import describe

LONG_WINDOWS, LONG_TEXTS = (4, 12, 24, 65), 600
# A call without a channel brings texts of all of them. With this share of each budget 3.2.0 finds more than 3.1.1 did with half, and blocks fewer of the honest texts that were written to be mistaken (record/channels.md).
UNKNOWN_SHARE = 0.6
FIRST = {"scale": 1.0, "bias": 0.0, "per_window": PER_WINDOW, "sure": SURE}

# Logit and sureness of the window that decides, and the text's number of windows.
Features = tuple[np.ndarray, np.ndarray, np.ndarray]


def balanced_weights(items: list[Item]) -> np.ndarray:
    """Weights under which each source counts alike inside its label, and the labels count alike."""
    counts: dict[tuple[str, bool], int] = defaultdict(int)
    for item in items:
        counts[item.source, item.positive] += 1
    sources = {label: sum(1 for key in counts if key[1] == label) for label in (True, False)}
    return np.array([1 / counts[item.source, item.positive] / sources[item.positive] for item in items])


def left_out_error(features: Features, items: list[Item], weights: np.ndarray) -> float:
    """Calibration error where each source is judged by a fit that has not seen it."""
    top, sure, windows = features
    doubts = doubt(sure, windows, SURE)
    positive = np.array([item.positive for item in items], float)
    sources = np.array([item.source for item in items])
    rate = np.zeros(len(items))
    for source in sorted(set(sources.tolist())):
        out = sources == source
        found = fit(top[~out], doubts[~out], positive[~out], weights[~out])
        rate[out] = probability(top[out], sure[out], windows[out], found)
    return calibration_error(rate, positive, weights)


def source_threshold(rate: np.ndarray, items: list[Item], budget: float) -> float:
    """Threshold that keeps `budget`, as the mean over the benign sources of `world-dev`, `dev` and `data/calibration.jsonl` together."""
    benign = [index for index, item in enumerate(items) if item.budgeted]
    return threshold_for(rate[benign], np.array([items[index].source for index in benign]), budget)


def by_language(hit: np.ndarray, items: list[Item]) -> dict[str, float]:
    """Share of benign texts blocked, in English and in other languages, by length in characters."""
    groups: dict[str, list[bool]] = defaultdict(list)
    for blocked, item in zip(hit, items, strict=True):
        if item.budgeted and item.text:
            length = "short" if len(item.text) <= 200 else "medium" if len(item.text) <= 1000 else "long"
            groups[f"{'English' if item.lang == 'en' else 'other languages'}, {length}"].append(bool(blocked))
    return {f"{name} ({len(part)})": round(float(np.mean(part)), 4) for name, part in sorted(groups.items())}


def long_items(items: list[Item], scores: dict[str, Scored], calibration: dict[str, float]) -> tuple[list[Item], Features]:
    """Long texts drawn from the windows of benign dev texts, half of them with one attack's worst window among them.

    What a window gets depends on nothing outside it, so the windows of a long text are those of its parts.
    """
    rng = np.random.default_rng(3)
    benign = [item for item in items if item.budgeted and item.lang == "en" and item.group in {"document", "email", "code"}]
    planted = [item for item in items if item.positive and item.span and not item.authored]
    if not benign or not planted:
        return [], (np.zeros(0), np.zeros(0), np.zeros(0))
    parts = [scores[key_of(item)] for item in benign]
    pool = np.array([pair for part in parts for pair in zip(part.logits, part.sure, strict=True)])
    attacks = np.stack(features_of(planted, scores, calibration)[:2], 1)
    made, chosen, windows = [], [], []
    for count in LONG_WINDOWS:
        for number in range(LONG_TEXTS):
            positive = number % 2 == 1
            parts = rng.choice(pool, count)
            if positive:
                parts[0] = rng.choice(attacks)
            made.append(Item("", positive, "long documents", f"{count} windows", "en", None))
            chosen.append(parts[worst_window(parts[:, 0], parts[:, 1], calibration)])
            windows.append(count)
    top, sure = np.array(chosen).T
    return made, (top, sure, np.array(windows, float))


def write_golden(model: Path, manifest: dict) -> None:
    """Golden vectors of the authored texts in `data/golden.json`, some with a channel and a task."""
    scorer = Scorer(model / "model.onnx", model / "tokenizer.json")
    with (model / "golden.jsonl").open("w") as out:
        for given in json.loads((HERE / "data" / "golden.json").read_text()):
            row = {"text": given} if isinstance(given, str) else given
            row["ids"] = encode(scorer.tokenizer, row["text"])
            channel = ENGINE_CHANNELS.get(row.get("channel", ""), UNKNOWN)
            scored = scorer.score(row["text"], channel, row.get("task", ""))
            rate = rate_of(scored, judged_by(manifest, channel)["calibration"])
            row |= {"windows": len(window_starts(len(row["ids"]))), "logit": round(max(scored.logits), 6), "probability": round(rate, 6)}
            out.write(json.dumps(row) + "\n")


def features_of(items: list[Item], scores: dict[str, Scored], calibration: dict[str, float]) -> Features:
    """Logit and sureness of the window that decides, and the number of windows."""
    rows = []
    for item in items:
        scored = scores[key_of(item)]
        logits, sure = np.array(scored.logits), np.array(scored.sure)
        worst = worst_window(logits, sure, calibration)
        rows.append((logits[worst], sure[worst], len(logits)))
    top, sure, windows = np.array(rows, float).T
    return top, sure, windows


def joined(items: list[Item], scores: dict[str, Scored], calibration: dict[str, float]) -> tuple[list[Item], Features]:
    """Dev texts and long texts made of them."""
    made, long = long_items(items, scores, calibration)
    if not made:
        return items, features_of(items, scores, calibration)
    own = features_of(items, scores, calibration)
    top, sure, windows = (np.concatenate(pair) for pair in zip(own, long, strict=True))
    return items + made, (top, sure, windows)


def calibrated(dev: list[Item], scores: dict[str, Scored], share: float = 1) -> tuple[dict[str, float], dict[str, dict[str, float]], list[Item], Features]:
    """Calibration and operating points of texts that are judged alike, and what they were chosen on."""
    items, features, calibration = dev, features_of(dev, scores, FIRST), FIRST
    # Which window decides depends on the calibration, so it is fitted twice.
    for _ in range(2):
        items, (top, sure, windows) = joined(dev, scores, calibration)
        positive = np.array([item.positive for item in items], float)
        calibration = fit(top, doubt(sure, windows, SURE), positive, balanced_weights(items))
    items, features = joined(dev, scores, calibration)
    rate, weights = probability(*features, calibration), balanced_weights(items)
    positive = np.array([item.positive for item in items])
    counted = np.array([not item.generated and item.source != "long documents" and (item.positive or item.budgeted) for item in items])
    points = {}
    for name, whole in BUDGETS.items():
        budget = round(whole * share, 6)
        threshold = round(source_threshold(rate, items, budget) + 5e-7, 6)
        hit = rate >= threshold
        figures = {label: round(float(np.average(hit[part], weights=weights[part])), 4) for label, part in (("recall", counted & positive), ("false_positives", counted & ~positive))}
        points[name] = {"threshold": threshold, "budget": budget, **figures}
    return {"kind": "platt-windows", **calibration}, points, items, features


def main() -> None:
    """Command line of `calibrate`."""
    args = model_parser(__doc__).parse_args()

    told = dev_items(args.data, args.limit) + first_of_each(channel_items(args.data), args.limit)
    # Labels of the texts with a channel hold for their channel alone.
    untold = [replace(item, channel=UNKNOWN, task="") for item in dev_items(args.data, args.limit)]
    scores = score_all(args.model / "model.onnx", [*untold, *told], args.work, args.workers)
    manifest = json.loads((args.model / "manifest.json").read_text())
    manifest["calibration"], manifest["operating_points"], items, features = calibrated(untold, scores, UNKNOWN_SHARE)
    manifest["channels"] = {}
    for name, channel in ENGINE_CHANNELS.items():
        own = [item for item in told if item.channel == channel]
        # Every text of tool calls is generated, and such texts choose nothing: they are judged as those of an unknown channel.
        chooses = any(item.budgeted for item in own) and any(item.positive and not item.generated for item in own)
        calibration, points = calibrated(own, scores)[:2] if chooses else (manifest["calibration"], manifest["operating_points"])
        manifest["channels"][name] = {"id": channel, "calibration": calibration, "operating_points": points}
        if name in CHANNEL_CLEARS_BELOW:
            manifest["channels"][name]["clears_below"] = CHANNEL_CLEARS_BELOW[name]
    manifest["clears_below"], manifest["rules_weight"] = CLEARS_BELOW, RULES_WEIGHT
    positive, weights = np.array([item.positive for item in items], float), balanced_weights(items)
    rate = probability(*features, manifest["calibration"])
    manifest["calibration_error"] = {
        "dev": round(calibration_error(rate, positive, weights), 4),
        "left_out_source": round(left_out_error(features, items, weights), 4),
    }
    write_golden(args.model, manifest)
    manifest["files"]["golden.jsonl"] = describe(args.model / "golden.jsonl")
    (args.model / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
    chosen = [index for index, item in enumerate(items) if item.source in WORLD_DEV]
    world = [items[index] for index in chosen]
    print("no channel: world-dev, recall at false positives of:", curve(rate[chosen], world), "left out at 1 %:", left_out(rate[chosen], world, 0.01))
    print("benign texts blocked at the default:", by_language(rate >= manifest["operating_points"]["balanced"]["threshold"], items))
    print(json.dumps({name: part["operating_points"] | {"calibration": part["calibration"]} for name, part in ({"unknown": manifest} | manifest["channels"]).items()}, indent=1))


if __name__ == "__main__":
    main()
