"""`long_trial`: what the strictness for long texts finds and blocks, by length and source (`record/long-documents.md`)."""

import json

import numpy as np

from ..data.devset import Item, dev_items
from ..release.calibrate import balanced_weights, source_threshold
from ..scoring.arguments import model_parser
from ..scoring.calibration import log_odds, rate_of
from ..scoring.score import Scored, key_of, score_all

LENGTHS = (4, 12, 75)
TRIALS = ((None, 0.2), (None, 0.3), (None, 0.41), (3, 0.5), (3.5, 0.5), (4, 0.3), (4, 0.4), (5, 0.15), (5, 0.2), (6, 0.15))
TEXTS, SMALLEST = 400, 100

# Of each window: logit and sureness.
Windows = np.ndarray


def long_texts(texts: list[Windows], rng: np.random.Generator) -> dict[int, list[Windows]]:
    """The windows of long texts made of whole texts of one source, the same ones for every trial."""
    made: dict[int, list[Windows]] = {length: [] for length in LENGTHS}
    for _ in range(TEXTS):
        joined = np.concatenate([texts[at] for at in rng.integers(len(texts), size=max(LENGTHS))])
        for length in LENGTHS:
            made[length].append(joined[:length])
    return made


def sources_of(items: list[Item], scores: dict[str, Scored]) -> dict[str, list[Windows]]:
    """The windows of each text, by source."""
    found: dict[str, list[Windows]] = {}
    for item in items:
        scored = scores[key_of(item)]
        source = "authored and own" if item.authored else item.source
        found.setdefault(source, []).append(np.array([scored.logits, scored.sure]).T)
    return found


def main() -> None:
    """Command line of `long_trial`."""
    args = model_parser(__doc__).parse_args()
    manifest = json.loads((args.model / "manifest.json").read_text())
    items = dev_items(args.data, args.limit)
    scores = score_all(args.model / "model.onnx", items, args.work, args.workers)
    rng = np.random.default_rng(1)
    benign = sources_of([item for item in items if item.budgeted and item.lang == "en" and item.group in {"document", "email", "code"}], scores)
    hosts = {source: long_texts(texts, rng) for source, texts in benign.items() if sum(map(len, texts)) >= SMALLEST}
    attacks = sources_of([item for item in items if item.positive and item.span], scores)
    worst = {source: np.array([one[one[:, 0].argmax()] for one in texts]) for source, texts in attacks.items()}
    counted = np.array([item.positive and not item.authored for item in items])
    weights = balanced_weights(items)
    for sure, per_window in TRIALS:
        law = {**manifest["calibration"], "sure": sure, "per_window": per_window}
        rate = np.array([rate_of(scores[key_of(item)], law) for item in items])
        threshold = source_threshold(rate, items, 0.01)
        bar = np.log(threshold / (1 - threshold))

        def hot(windows: Windows, length: int, law: dict = law, bar: float = bar) -> np.ndarray:
            return log_odds(windows[:, 0], windows[:, 1], np.full(len(windows), length), law) >= bar

        blocked = {length: {name: np.mean([hot(one, length).any() for one in made[length]]) for name, made in hosts.items()} for length in LENGTHS}
        found = {length: {name: hot(one, length).mean() for name, one in worst.items()} for length in (1, *LENGTHS)}
        recall = np.average(rate[counted] >= threshold, weights=weights[counted])
        cells = [f"{np.mean(list(found[length].values())):.1%}, {np.mean(list(blocked[length].values())):.1%}" for length in LENGTHS]
        print(f"| {sure}, {per_window} | {recall:.1%} | {np.mean(list(found[1].values())):.1%} | " + " | ".join(cells) + " |")
        for length in LENGTHS[1:]:
            print("  blocked", length, {name: f"{one:.1%}" for name, one in blocked[length].items()})
            print("  found", length, {name: f"{one:.1%}" for name, one in found[length].items()})


if __name__ == "__main__":
    main()
