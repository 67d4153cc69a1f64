"""`calibrate`: probability from logit and number of windows, and the thresholds, chosen on the int8 file on world-dev, dev and `data/calibration`."""

import json
from collections import defaultdict
from pathlib import Path

import numpy as np

from ..data.devset import WORLD_DEV, Item, dev_items
from ..paths import HERE
from ..scoring.arguments import model_parser
from ..scoring.calibration import BUDGETS, CLEARS_BELOW, PER_WINDOW, RULES_WEIGHT, SURE, calibration_error, doubt, fit, probability, rate_of, worst_window
from ..scoring.protocol import curve, left_out, threshold_for
from ..scoring.score import Scored, Scorer, encode, score_all, text_key
from ..text.windows import window_starts
from .export import describe

LONG_WINDOWS, LONG_TEXTS = (4, 12, 24, 65), 600
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
    """Threshold that keeps `budget`, as the mean over the benign sources of `world-dev`, `dev` and `data/calibration` together."""
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
    parts = [scores[text_key(item.text)] for item in benign]
    pool = np.array([pair for part in parts for pair in zip(part.logits, part.sure, strict=True)])
    planted = [item for item in items if item.positive and item.span and not item.authored]
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


def write_golden(model: Path, calibration: dict[str, float]) -> None:
    """Golden vectors of the authored texts in `data/golden.json`."""
    scorer = Scorer(model / "model.onnx", model / "tokenizer.json")
    with (model / "golden.jsonl").open("w") as out:
        for text in json.loads((HERE / "data" / "golden.json").read_text()):
            ids = encode(scorer.tokenizer, text)
            scored = scorer.score(text)
            rate = rate_of(scored, calibration)
            row = {"text": text, "ids": ids, "windows": len(window_starts(len(ids)))}
            out.write(json.dumps(row | {"logit": round(max(scored.logits), 6), "probability": round(rate, 6)}) + "\n")


def features_of(items: list[Item], scores: dict[str, Scored], calibration: dict[str, float]) -> Features:
    """Logit and sureness of the window that decides, and the number of windows."""
    rows = []
    for item in items:
        scored = scores[text_key(item.text)]
        logits, sure = np.array(scored.logits), np.array(scored.sure)
        worst = worst_window(logits, sure, calibration)
        rows.append((logits[worst], sure[worst], len(logits)))
    top, sure, windows = np.array(rows, float).T
    return top, sure, windows


def joined(items: list[Item], scores: dict[str, Scored], calibration: dict[str, float]) -> tuple[list[Item], Features]:
    """Dev texts and long texts made of them."""
    made, long = long_items(items, scores, calibration)
    own = features_of(items, scores, calibration)
    top, sure, windows = (np.concatenate(pair) for pair in zip(own, long, strict=True))
    return items + made, (top, sure, windows)


def main() -> None:
    """Command line of `calibrate`."""
    args = model_parser(__doc__).parse_args()

    items = dev_items(args.data, HERE / "data", args.limit)
    scores = score_all(args.model / "model.onnx", [item.text for item in items], args.work, args.workers)
    dev, calibration = items, FIRST
    # Which window decides depends on the calibration, so it is fitted twice.
    for _ in range(2):
        items, features = joined(dev, scores, calibration)
        top, sure, windows = features
        positive = np.array([item.positive for item in items], float)
        weights = balanced_weights(items)
        calibration = fit(top, doubt(sure, windows, SURE), positive, weights)
    items, features = joined(dev, scores, calibration)
    rate = probability(*features, calibration)
    counted = np.array([not item.authored and not item.generated and item.source != "long documents" for item in items])
    found, benign = counted & (positive == 1), counted & (positive == 0)
    points = {}
    for name, budget in BUDGETS.items():
        threshold = round(source_threshold(rate, items, budget) + 5e-7, 6)
        hit = rate >= threshold
        points[name] = {
            "threshold": threshold,
            "budget": budget,
            "recall": round(float(np.average(hit[found], weights=weights[found])), 4),
            "false_positives": round(float(np.average(hit[benign], weights=weights[benign])), 4),
        }
    manifest = json.loads((args.model / "manifest.json").read_text())
    manifest["calibration"] = {"kind": "platt-windows", **calibration}
    manifest["operating_points"] = points
    manifest["clears_below"], manifest["rules_weight"] = CLEARS_BELOW, RULES_WEIGHT
    manifest["calibration_error"] = {
        "dev": round(calibration_error(rate, positive, weights), 4),
        "left_out_source": round(left_out_error(features, items, weights), 4),
    }
    write_golden(args.model, calibration)
    manifest["files"]["golden.jsonl"] = describe(args.model / "golden.jsonl")
    (args.model / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
    groups = np.array([item.group for item in items])
    for count in LONG_WINDOWS:
        hit = rate >= points["balanced"]["threshold"]
        part = groups == f"{count} windows"
        print(count, "windows:", hit[part & (positive == 1)].mean(), "of attacks,", hit[part & (positive == 0)].mean(), "of benign texts")
    chosen = [index for index, item in enumerate(items) if item.source in WORLD_DEV]
    world = [items[index] for index in chosen]
    print("world-dev, recall at false positives of:", curve(rate[chosen], world), "left out at 1 %:", left_out(rate[chosen], world, 0.01))
    print("benign texts blocked at the default:", by_language(rate >= points["balanced"]["threshold"], items))
    print(json.dumps({"calibration": calibration, **points, "error": manifest["calibration_error"]}, indent=1))


if __name__ == "__main__":
    main()
