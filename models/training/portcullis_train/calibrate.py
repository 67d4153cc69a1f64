"""`calibrate`: probability from logit and number of windows, and the thresholds, chosen on the int8 file on dev."""

import json
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np

from .arguments import model_parser
from .devset import Item, dev_items
from .export import describe
from .score import Scored, Scorer, encode, score_all, text_key
from .windows import LOOK, LOOK_ABOVE, window_starts

HERE = Path(__file__).resolve().parent.parent
SMALLEST_SOURCE = 10
LONG_WINDOWS, LONG_TEXTS = (4, 12, 24, 65), 600
BUDGETS = {"strict": 0.02, "balanced": 0.01, "permissive": 0.005}


def probability(top: np.ndarray, windows: np.ndarray, calibration: dict[str, float]) -> np.ndarray:
    """Calibrated probability; the runtime has the same line."""
    raw = calibration["scale"] * top + calibration["bias"] - calibration["per_window"] * np.log(windows)
    return 1 / (1 + np.exp(-raw))


def balanced_weights(items: list[Item]) -> np.ndarray:
    """Weights under which each source counts alike inside its label, and the labels count alike."""
    counts: dict[tuple[str, bool], int] = defaultdict(int)
    for item in items:
        counts[item.source, item.positive] += 1
    sources = {label: sum(1 for key in counts if key[1] == label) for label in (True, False)}
    return np.array([1 / counts[item.source, item.positive] / sources[item.positive] for item in items])


def fit(top: np.ndarray, windows: np.ndarray, positive: np.ndarray, weights: np.ndarray) -> dict[str, float]:
    """Weighted logistic regression by Newton's method, slopes held at their sensible sign."""
    columns = np.stack([top, np.ones_like(top), -np.log(windows)], 1)
    active = [0, 1, 2]
    for _ in range(2):
        beta = np.zeros(3)
        for _ in range(60):
            inner = columns[:, active]
            rate = 1 / (1 + np.exp(-np.clip(inner @ beta[active], -30, 30)))
            slope = inner.T @ (weights * (positive - rate)) - 1e-4 * beta[active]
            curve = (inner * (weights * rate * (1 - rate))[:, None]).T @ inner + 1e-4 * np.eye(len(active))
            beta[active] += np.clip(np.linalg.solve(curve, slope), -1, 1)
        if beta[2] >= 0:
            break
        active = [0, 1]
    return {"scale": round(float(beta[0]), 6), "bias": round(float(beta[1]), 6), "per_window": round(float(beta[2]), 6)}


def calibration_error(rate: np.ndarray, positive: np.ndarray, weights: np.ndarray) -> float:
    """Expected calibration error over ten bins, weighted."""
    bins = np.minimum((rate * 10).astype(int), 9)
    total = 0.0
    for one in range(10):
        part = bins == one
        if part.any():
            weight = weights[part].sum()
            total += weight * abs(np.average(rate[part], weights=weights[part]) - np.average(positive[part], weights=weights[part]))
    return float(total / weights.sum())


def left_out_error(top: np.ndarray, windows: np.ndarray, items: list[Item], weights: np.ndarray) -> float:
    """Calibration error where each source is judged by a fit that has not seen it."""
    positive = np.array([item.positive for item in items], float)
    sources = np.array([item.source for item in items])
    rate = np.zeros(len(items))
    for source in sorted(set(sources.tolist())):
        out = sources == source
        rate[out] = probability(top[out], windows[out], fit(top[~out], windows[~out], positive[~out], weights[~out]))
    return calibration_error(rate, positive, weights)


def source_threshold(rate: np.ndarray, items: list[Item], budget: float) -> float:
    """Threshold at which honest dev texts are blocked at `budget`, as the mean over their sources."""
    counts = Counter(item.source for item in items if item.budgeted)
    honest = [index for index, item in enumerate(items) if item.budgeted and counts[item.source] >= SMALLEST_SOURCE]
    weights = balanced_weights([items[index] for index in honest])
    values = rate[honest]
    order = np.argsort(-values, kind="stable")
    blocked = np.cumsum(weights[order]) / weights.sum()
    first = int(np.searchsorted(blocked, budget, side="right"))
    return float(np.nextafter(values[order[first]], 1)) if first < len(values) else 0.5


def long_items(items: list[Item], scores: dict[str, Scored]) -> tuple[list[Item], np.ndarray, np.ndarray]:
    """Long texts drawn from the windows of honest dev texts, half of them with one attack's worst window among them.

    A window's logit depends on nothing outside it, so the logits of a long text are those of its windows.
    """
    rng = np.random.default_rng(3)
    honest = [item for item in items if item.budgeted and item.lang == "en" and item.group in {"document", "email", "code"}]
    pool = np.array([logit for item in honest for logit in scores[text_key(item.text)].logits])
    attacks = np.array([scores[text_key(item.text)].top for item in items if item.positive and item.span and not item.authored])
    made, top, windows = [], [], []
    for count in LONG_WINDOWS:
        for number in range(LONG_TEXTS):
            positive = number % 2 == 1
            worst = rng.choice(pool, count).max()
            made.append(Item("", positive, f"long {count}", "document", "en", None))
            top.append(max(worst, rng.choice(attacks)) if positive else worst)
            windows.append(count)
    return made, np.array(top), np.array(windows, float)


def write_golden(model: Path, calibration: dict[str, float]) -> None:
    """Golden vectors of the authored texts in `data/golden.json`."""
    scorer = Scorer(model / "model.onnx", model / "tokenizer.json")
    with (model / "golden.jsonl").open("w") as out:
        for text in json.loads((HERE / "data" / "golden.json").read_text()):
            ids = encode(scorer.tokenizer, text)
            scored = scorer.score(text)
            rate = float(probability(np.array(scored.top), np.array(len(scored.logits)), calibration))
            row = {"text": text, "ids": ids, "windows": len(window_starts(len(ids)))}
            out.write(json.dumps(row | {"logit": round(max(scored.windows), 6), "probability": round(rate, 6)}) + "\n")


def arrays(items: list[Item], scores: dict[str, Scored]) -> tuple[np.ndarray, np.ndarray]:
    """Top logits and numbers of windows."""
    found = [scores[text_key(item.text)] for item in items]
    return np.array([one.top for one in found]), np.array([len(one.logits) for one in found], float)


def main() -> None:
    """Command line of `calibrate`."""
    args = model_parser(__doc__).parse_args()

    items = dev_items(args.data, HERE / "data", args.limit)
    scores = score_all(args.model / "model.onnx", [item.text for item in items], args.work, args.workers)
    top, windows = arrays(items, scores)
    long, long_top, long_windows = long_items(items, scores)
    items, top, windows = items + long, np.concatenate([top, long_top]), np.concatenate([windows, long_windows])
    positive = np.array([item.positive for item in items], float)
    weights = balanced_weights(items)
    calibration = fit(top, windows, positive, weights)
    rate = probability(top, windows, calibration)
    counted = np.array([not item.authored for item in items])
    found, honest = counted & (positive == 1), counted & (positive == 0)
    points = {}
    for name, budget in BUDGETS.items():
        threshold = round(source_threshold(rate, items, budget) + 5e-7, 6)
        hit = rate >= threshold
        points[name] = {
            "threshold": threshold,
            "budget": budget,
            "recall": round(float(np.average(hit[found], weights=weights[found])), 4),
            "false_positives": round(float(np.average(hit[honest], weights=weights[honest])), 4),
        }
    manifest = json.loads((args.model / "manifest.json").read_text())
    manifest["second_look"] = {"tokens": LOOK, "above": LOOK_ABOVE}
    manifest["calibration"] = {"kind": "platt-windows", **calibration}
    manifest["operating_points"] = points
    manifest["calibration_error"] = {
        "dev": round(calibration_error(rate, positive, weights), 4),
        "left_out_source": round(left_out_error(top, windows, items, weights), 4),
    }
    write_golden(args.model, calibration)
    manifest["files"]["golden.jsonl"] = describe(args.model / "golden.jsonl")
    (args.model / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
    sources = np.array([item.source for item in items])
    for count in LONG_WINDOWS:
        hit = rate >= points["balanced"]["threshold"]
        part = sources == f"long {count}"
        print(count, "windows:", hit[part & (positive == 1)].mean(), "of attacks,", hit[part & (positive == 0)].mean(), "of honest")
    print(json.dumps({"calibration": calibration, **points, "error": manifest["calibration_error"]}, indent=1))


if __name__ == "__main__":
    main()
