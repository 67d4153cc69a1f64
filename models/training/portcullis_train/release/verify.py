"""`verify`: digests, size, golden vectors, repeatability, and int8 against fp32."""

import argparse
import json
import random
import sys
from pathlib import Path

import numpy as np

from ..data.channels import ENGINE_CHANNELS, UNKNOWN
from ..data.devset import channel_items, dev_items
from ..scoring.arguments import model_parser
from ..scoring.calibration import judged_by, rate_of
from ..scoring.score import Scorer, key_of, score_all
from ..text.encode import encode
from .export import describe

LARGEST = 40_000_000


def file_faults(model: Path, manifest: dict) -> list[str]:
    """Files whose digest or size is not the manifest's."""
    faults = [f"{name}: not the file of the manifest" for name, told in manifest["files"].items() if describe(model / name) != told]
    if manifest["files"]["model.onnx"]["bytes"] > LARGEST:
        faults.append("model.onnx: over 40 MB")
    return faults


def golden_faults(model: Path, manifest: dict) -> list[str]:
    """Golden texts that come out otherwise, or not the same twice."""
    faults = []
    scorer = Scorer(model / "model.onnx", model / "tokenizer.json")
    for number, line in enumerate((model / "golden.jsonl").read_text().splitlines(), 1):
        told = json.loads(line)
        channel = ENGINE_CHANNELS.get(told.get("channel", ""), UNKNOWN)
        first, second = (scorer.score(told["text"], channel, told.get("task", "")) for _ in range(2))
        rate = rate_of(first, judged_by(manifest, channel)["calibration"])
        if encode(scorer.tokenizer, told["text"]) != told["ids"]:
            faults.append(f"golden {number}: other token ids")
        if first != second:
            faults.append(f"golden {number}: not the same twice")
        if abs(rate - told["probability"]) > 0.001 or len(first.logits) != told["windows"]:
            faults.append(f"golden {number}: probability {rate:.6f}, expected {told['probability']}")
    return faults


def int8_against_fp32(args: argparse.Namespace, manifest: dict) -> dict[str, float]:
    """Share of verdicts that differ, and recall of both, on a fixed sample of dev."""
    items = dev_items(args.data, args.limit) + channel_items(args.data)
    items = random.Random(11).sample(items, min(args.sample, len(items)))
    positive = np.array([item.positive for item in items])
    parts = [judged_by(manifest, item.channel) for item in items]
    thresholds = np.array([part["operating_points"][manifest["operating_point"]]["threshold"] for part in parts])
    hits = []
    for path in (args.model / "model.onnx", args.work / "model-fp32.onnx"):
        scores = score_all(path, items, args.work, args.workers)
        rate = np.array([rate_of(scores[key_of(item)], part["calibration"]) for item, part in zip(items, parts, strict=True)])
        hits.append(rate >= thresholds)
    return {
        "n": len(items),
        "differ": round(float((hits[0] != hits[1]).mean()), 4),
        "recall_int8": round(float(hits[0][positive].mean()), 4),
        "recall_fp32": round(float(hits[1][positive].mean()), 4),
    }


def main() -> None:
    """Command line of `verify`."""
    parser = model_parser(__doc__, data_help="without it, the comparison with fp32 is left out")
    parser.add_argument("--sample", type=int, default=1500, help="dev texts that int8 and fp32 are compared on")
    args = parser.parse_args()
    manifest = json.loads((args.model / "manifest.json").read_text())
    faults = file_faults(args.model, manifest) + golden_faults(args.model, manifest)
    if args.data and (args.work / "model-fp32.onnx").exists():
        found = int8_against_fp32(args, manifest)
        print(json.dumps(found))
        if found["differ"] > 0.015 or found["recall_fp32"] - found["recall_int8"] > 0.01:
            faults.append("int8 differs too much from fp32")
    print("\n".join(faults) or "verified")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
