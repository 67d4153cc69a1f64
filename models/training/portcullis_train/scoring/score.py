"""Scoring as the runtime does it: one window a run, one thread; results are kept by text and model."""

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import onnxruntime

from ..text.encode import CLS, SEP, encode, load_tokenizer
from ..text.windows import CONTENT, SURE_TOKENS, TASK, window_starts

if TYPE_CHECKING:
    from ..data.devset import Item


@dataclass(frozen=True)
class Scored:
    """Of each window its logit and how sure the token head is; the surest token of the window with the greatest logit."""

    logits: list[float]
    sure: list[float]
    token: int
    token_logit: float
    tokens: int


def sureness(tokens: np.ndarray) -> float:
    """Mean of the greatest token logits of a window, at most `SURE_TOKENS` of them; 0 without tokens."""
    return float(np.sort(tokens)[-SURE_TOKENS:].mean(dtype=np.float64)) if len(tokens) else 0.0


def open_session(model: "str | bytes") -> onnxruntime.InferenceSession:
    """A model file, or its bytes, on one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False
    options.log_severity_level = 3
    # Without VNNI sums of signed weights saturate; the runtime sets the same.
    options.add_session_config_entry("session.x64quantprecision", "1")
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


class Scorer:
    """Runs a model file window by window."""

    def __init__(self, model: Path, tokenizer: Path) -> None:
        self.session = open_session(str(model))
        self.with_channel = "channel" in {one.name for one in self.session.get_inputs()}
        self.tokenizer = load_tokenizer(tokenizer)

    def window(self, ids: list[int], channel: int = 0, task: Sequence[int] = ()) -> tuple[float, np.ndarray]:
        """Logit and content-token logits of one window. A model from before channels and tasks sees neither."""
        told = self.with_channel and len(task) > 0
        row = np.array([[CLS, *ids, SEP, *task, SEP] if told else [CLS, *ids, SEP]], np.int64)
        given = {"input_ids": row, "attention_mask": np.ones_like(row)}
        if self.with_channel:
            types = np.zeros_like(row)
            types[0, len(ids) + 2 :] = 1
            given |= {"token_type_ids": types, "channel": np.array([channel], np.int64)}
        logit, tokens = self.session.run(None, given)
        return float(logit[0]), tokens[0, 1 : len(ids) + 1]

    def score(self, text: str, channel: int = 0, task: str = "") -> Scored:
        """Score every window of a text."""
        ids = encode(self.tokenizer, text)
        asked = encode(self.tokenizer, task)[-TASK:] if task else []
        logits, sure, best, token, token_logit = [], [], -math.inf, -1, -math.inf
        for start in window_starts(len(ids)):
            logit, tokens = self.window(ids[start : start + CONTENT], channel, asked)
            logits.append(logit)
            sure.append(sureness(tokens))
            if logit > best:
                best = logit
                token = start + int(tokens.argmax()) if len(tokens) else -1
                token_logit = float(tokens.max()) if len(tokens) else -math.inf
        return Scored(logits, sure, token, token_logit, len(ids))


class Asked(NamedTuple):
    """What a model is asked about."""

    text: str
    channel: int = 0
    task: str = ""


def key_of(item: "Asked | Item") -> str:
    """Key of a text, its channel and its task in the score file."""
    told = f"\0{item.channel}\0{item.task}" if item.channel or item.task else ""
    return hashlib.sha256((item.text + told).encode("utf-8", "surrogatepass")).hexdigest()[:24]


_scorers: dict[tuple[Path, Path], Scorer] = {}


def _score_one(model: Path, tokenizer: Path, item: Asked) -> tuple[str, Scored]:
    if (model, tokenizer) not in _scorers:
        _scorers[model, tokenizer] = Scorer(model, tokenizer)
    return key_of(item), _scorers[model, tokenizer].score(*item)


def tokenizer_of(model: Path, work: Path) -> Path:
    """The tokenizer lies beside the shipped file (`deep-tokenizer.json` beside `deep-model.onnx`); the fp32 graph borrows it."""
    beside = model.with_name(f"{model.name.removesuffix('model.onnx')}tokenizer.json")
    return beside if beside.exists() else work / "tokenizer.json"


def score_all(model: Path, items: "Iterable[Asked | Item]", work: Path, workers: int = 1) -> dict[str, Scored]:
    """Scores by key; a stopped run goes on where it was."""
    tokenizer = tokenizer_of(model, work)
    name = hashlib.sha256(model.read_bytes() + tokenizer.read_bytes()).hexdigest()[:16]
    store = work / f"sure-{name}.jsonl"
    known: dict[str, Scored] = {}
    if store.exists():
        for line in store.read_text().splitlines():
            row = json.loads(line)
            key = row.pop("key")
            known[key] = Scored(**row)
    missing = list({key_of(item): Asked(item.text, item.channel, item.task) for item in items if key_of(item) not in known}.values())
    task = partial(_score_one, model, tokenizer)
    with store.open("a") as out, ProcessPoolExecutor(workers) as pool:
        for key, scored in pool.map(task, missing, chunksize=8):
            known[key] = scored
            out.write(json.dumps({"key": key, **asdict(scored)}) + "\n")
    return known
