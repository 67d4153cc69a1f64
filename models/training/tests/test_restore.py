"""Weights read back from the shipped int8 file."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from portcullis_train.scoring.score import Scorer
from portcullis_train.text.windows import CONTENT
from portcullis_train.training.language import LanguageOffset
from portcullis_train.training.net import Screener, padded
from portcullis_train.training.restore import restored, restored_ngrams

MODEL = Path(__file__).resolve().parent.parent.parent / "portcullis-minilm-1"


@pytest.mark.skipif(not (MODEL / "model.onnx").exists(), reason="no model is shipped")
def test_the_restored_net_gives_the_logits_of_the_int8_file():
    state = restored(MODEL / "model.onnx")
    net = Screener(len(state["words.weight"]))
    net.load_state_dict(state)
    net.ngrams = restored_ngrams(MODEL / "model.onnx")
    net.language = LanguageOffset(restored_ngrams(MODEL / "model.onnx", "language.ngrams"))
    net.eval()
    scorer = Scorer(MODEL / "model.onnx", MODEL / "tokenizer.json")
    rows = [json.loads(line) for line in (MODEL / "golden.jsonl").read_text().splitlines()]
    with torch.no_grad():
        pairs = [(net(*padded([row["ids"][:CONTENT]]), torch.tensor([0]))[0].item(), scorer.window(row["ids"][:CONTENT])[0]) for row in rows]
    difference = np.abs(np.array(pairs) @ [1, -1])
    assert difference.mean() < 0.1 and difference.max() < 0.6
