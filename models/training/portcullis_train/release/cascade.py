"""`cascade`: a model folder of two networks, a released model and a larger one that also judges windows that are not English.

The second network's logit is calibrated on the dev texts in other languages (Platt scaling, each source and label alike), and its log-odds are then
shifted so that the released `balanced` threshold keeps its budget on their benign texts: once for texts without a channel, and once for each channel,
but not much further. `data/blind.jsonl` is reported only.

    python -m portcullis_train.release.cascade --data DATA --work WORK2 --first ../portcullis-minilm-1 --deep EXPORTED --model ../optional/portcullis-multilingual-1
"""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..data.channels import ENGINE_CHANNELS, UNKNOWN
from ..data.devset import Item, channel_items, dev_items, first_of_each, item_of
from ..data.rows import own_texts
from ..scoring.arguments import model_parser
from ..scoring.calibration import fit, judged_by, log_odds
from ..scoring.score import Scored, score_all
from .calibrate import balanced_weights, features_of, source_threshold, write_golden
from .export import describe

SHARES = (0.0, 0.3, 0.4, 0.5, 0.6, 0.7, 1.0)
# A channel with fewer benign texts in other languages is judged as one that nobody told.
LEAST_BENIGN = 50
# A channel has few benign texts in other languages, easy ones or of one source: its shift is that of texts without a channel, give or take this.
FURTHER = 0.5
FILES = ("model.onnx", "tokenizer.json", "golden.jsonl")


def other_items(data: Path, limit: int | None) -> dict[int, list[Item]]:
    """The dev texts that are not English, by the channel that they are judged in; each one also without its channel, but for those whose label hangs on it."""
    dev = [item for item in dev_items(data, limit) if item.lang != "en"]
    told = dev + [item for item in first_of_each(channel_items(data), limit) if item.lang != "en"]
    apart = {channel: [item for item in told if item.channel == channel] for channel in ENGINE_CHANNELS.values()}
    return {UNKNOWN: [replace(item, channel=UNKNOWN, task="") for item in dev]} | apart


def blind_items() -> list[Item]:
    """The texts that are reported only."""
    return [item_of(row) for row in own_texts("blind") if row["lang"] != "en"]


def odds_of(items: list[Item], scores: dict[str, Scored], calibration: dict[str, float]) -> np.ndarray:
    """Calibrated log-odds of texts."""
    return log_odds(*features_of(items, scores, calibration), calibration)


def fitted(items: list[Item], scores: dict[str, Scored]) -> dict[str, float]:
    """Platt scaling of the second network. It sees a window of the first at a time, so nothing counts windows."""
    top, _, _ = features_of(items, scores, {"scale": 1.0, "bias": 0.0, "per_window": 0.0})
    positive = np.array([item.positive for item in items], float)
    found = fit(top, np.zeros(len(items)), positive, balanced_weights(items))
    return {"kind": "platt-windows", "scale": found["scale"], "bias": found["bias"], "per_window": 0.0}


def together(first: np.ndarray, second: np.ndarray, share: float) -> np.ndarray:
    """What a cascade makes of two networks' log-odds; the runtime has the same line."""
    return (1 - share) * first + share * second


def shift_for(first: np.ndarray, second: np.ndarray, share: float, items: list[Item], point: dict[str, float]) -> float:
    """What to add to the second network's log-odds, so that an operating point keeps its budget on these texts."""
    if share == 0:
        return 0.0
    return (odds(point["threshold"]) - source_threshold(together(first, second, share), items, point["budget"])) / share


def near(shift: float, unknown: float) -> float:
    """A channel's shift, at most `FURTHER` away from that of texts without a channel."""
    return min(max(shift, unknown - FURTHER), unknown + FURTHER)


def odds(probability: float) -> float:
    """Log-odds of a probability."""
    return float(np.log(probability / (1 - probability)))


def found_and_blocked(hit: np.ndarray, items: list[Item]) -> str:
    """Share of attacks and of benign texts, per cent."""
    positive = np.array([item.positive for item in items])
    return f"{hit[positive].mean():.1%} / {hit[~positive].mean():.1%}"


def by_set(hit: np.ndarray, items: list[Item]) -> str:
    """The same, authored texts and others apart."""
    authored = np.array([item.authored for item in items])
    parts = {"authored": authored, "others": ~authored}
    return ", ".join(f"{name} {found_and_blocked(hit[part], [item for item, kept in zip(items, part, strict=True) if kept])}" for name, part in parts.items())


def main() -> None:
    """Command line of `cascade`."""
    parser = model_parser(__doc__)
    parser.add_argument("--first", type=Path, required=True, help="folder of a released model")
    parser.add_argument("--deep", type=Path, required=True, help="folder that `export` wrote of the second network")
    parser.add_argument("--share", type=float, default=0.6, help="share of the second network's log-odds in windows that are not English")
    parser.add_argument("--version", default="1.0.0")
    args = parser.parse_args()

    by_channel, blind = other_items(args.data, args.limit), blind_items()
    items = by_channel[UNKNOWN]
    manifest = json.loads((args.first / "manifest.json").read_text())
    wanted = [item for part in by_channel.values() for item in part] + blind
    firsts, seconds = (score_all(folder / "model.onnx", wanted, args.work, args.workers) for folder in (args.first, args.deep))
    calibration = fitted(items, seconds)

    def both(texts: list[Item], channel: int) -> tuple[np.ndarray, np.ndarray]:
        return odds_of(texts, firsts, judged_by(manifest, channel)["calibration"]), odds_of(texts, seconds, calibration)

    shifts: dict[tuple[int, float], float] = {}
    print("attacks found / benign texts blocked, at the released thresholds, of texts in other languages")
    for channel, part in by_channel.items():
        points = judged_by(manifest, channel)["operating_points"]
        if sum(item.budgeted for item in part) < LEAST_BENIGN:
            continue
        (first, second), (first_blind, second_blind) = both(part, channel), both(blind, UNKNOWN)
        for share in sorted({*SHARES, args.share}):
            own = shift_for(first, second, share, part, points["balanced"])
            # Texts without a channel come first.
            shift = shifts[channel, share] = near(own, shifts.get((UNKNOWN, share), own))
            for name, point in points.items():
                hit = together(first, second + shift, share) >= odds(point["threshold"])
                hit_blind = together(first_blind, second_blind + shift, share) >= odds(point["threshold"])
                told = f", blind {found_and_blocked(hit_blind, blind)}" if channel == UNKNOWN else ""
                print(f"  channel {channel}, share {share}, {name}: {by_set(hit, part)}{told}")

    def shifted(channel: int) -> dict[str, float]:
        shift = shifts.get((channel, args.share), shifts[UNKNOWN, args.share])
        return calibration | {"bias": round(calibration["bias"] + shift, 6)}

    args.model.mkdir(parents=True, exist_ok=True)
    golden = {channel: {"id": channel, "calibration": shifted(channel) | {"sure": 0.0}} for channel in (UNKNOWN, *ENGINE_CHANNELS.values())}
    write_golden(args.deep, golden[UNKNOWN] | {"channels": golden})
    # The first network is not repeated: the runtime finds it in its package, by its digest. Golden vectors change with each calibration, and are small.
    shutil.copyfile(args.first / "golden.jsonl", args.model / "golden.jsonl")
    for name in FILES:
        shutil.copyfile(args.deep / name, args.model / f"deep-{name}")
    deep = json.loads((args.deep / "manifest.json").read_text())
    manifest |= {"id": args.model.name, "version": args.version}
    manifest["files"] = {name: manifest["files"][name] for name in FILES} | {f"deep-{name}": describe(args.model / f"deep-{name}") for name in FILES}
    manifest["deep"] = {name: deep[name] for name in ("base", "tokenizer", "window", "inputs", "task", "data") if name in deep} | {
        "calibration": shifted(UNKNOWN),
        "share": args.share,
    }
    manifest["deep"]["channels"] = {
        name: {"id": channel} | ({"calibration": shifted(channel)} if (channel, args.share) in shifts else {}) for name, channel in ENGINE_CHANNELS.items()
    }
    # Of the first network alone.
    for name in ("metrics", "calibration_error"):
        manifest.pop(name, None)
    (args.model / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
    print(json.dumps(manifest["deep"]))


if __name__ == "__main__":
    main()
