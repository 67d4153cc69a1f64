"""`channel_head`: teaches a released network that reads neither channel nor task what the two add to its logit.

For each channel a linear head on the pooled window, and for the task one on its pooled tokens. As in `net.py`, window tokens don't attend to
the task, and the task moves the logit by `TASK_BOUND` at most. The layers stay as they are, byte for byte, so a text without channel and task
keeps its logit. Each training window is looked at once, and the heads are fitted to what the network gives.

    python -m portcullis_train.training.channel_head --data DATA --work WORK --deep ../optional/portcullis-multilingual-1 --to DEEP
"""

import argparse
import hashlib
import json
import random
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper, parser
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits as bce

from ..data.channels import UNKNOWN, channel_of, may_be_learnt
from ..data.rows import Row, own_texts, read_rows
from ..release.export import describe
from ..scoring.score import open_session
from ..text.encode import CLS, SEP, encode, encode_span, load_tokenizer
from ..text.windows import TASK
from .net import CHANNEL_COUNT, TASK_BOUND

# Tokens of a training window; texts of each source and label of `world-3-train`; older texts in other languages.
WINDOW, EACH, OLDER = 128, 45, 2800
SMOOTHING = 0.02
# How strongly the heads are held at zero. The network has learnt some of these windows, so that what it gives there is surer than elsewhere.
HOLD, HOLD_TASK, STEPS = 1.0, 0.3, 40

# Tensors of the exported graph: the mask as floats, what hides padding from attention, states, the pooled window, its logit.
MASK, PADDING, STATES, POOLED, LOGIT = "/Cast_output_0", "/Mul_output_0", "/Cast_1_output_0", "/Concat_output_0", "logit"
TYPES = """of_task = Cast <to = 1> (token_type_ids)
of_window = Sub (one, of_task)
asking = Unsqueeze (of_window, axis_2)
asked = Unsqueeze (of_task, axis_1)
apart = Mul (asking, asked)
hidden = Mul (apart, never)
hidden_tokens = Unsqueeze (hidden, axis_1)"""
HEADS = f"""channel_head = Gather (channel_heads, channel)
channel_bias = Gather (channel_biases, channel)
by_feature = Mul (pooled, channel_head)
of_channel = ReduceSum <keepdims = 0> (by_feature, axis_1)
task_mask = Unsqueeze (of_task, axis_2)
task_states = Mul (states, task_mask)
task_sum = ReduceSum <keepdims = 0> (task_states, axis_1)
task_count = ReduceSum <keepdims = 0> (task_mask, axis_1)
divisor = Max (task_count, one)
task_mean = Div (task_sum, divisor)
window_mask = Sub (one, task_mask)
lowered = Mul (window_mask, never)
task_only = Add (states, lowered)
task_peak = ReduceMax <axes = [1], keepdims = 0> (task_only)
task_pooled = Concat <axis = 1> (task_mean, task_peak)
by_task_feature = Mul (task_pooled, task_head)
task_odds = ReduceSum <keepdims = 0> (by_task_feature, axis_1)
task_odds_biased = Add (task_odds, task_bias)
task_share = Tanh (task_odds_biased)
task_moves = Mul (task_share, task_bound)
has_task = ReduceMax <axes = [1], keepdims = 0> (of_task)
of_the_task = Mul (task_moves, has_task)
in_channel = Add (plain_logit, of_channel)
with_bias = Add (in_channel, channel_bias)
{LOGIT} = Add (with_bias, of_the_task)"""


class Heads(NamedTuple):
    """Weights and bias of each channel's head, and of the task's."""

    channels: np.ndarray
    biases: np.ndarray
    task: np.ndarray
    task_bias: np.ndarray


class Look(NamedTuple):
    """What the network gives for a window: pooled, of the task pooled (zeros without one), and its logit."""

    pooled: np.ndarray
    task: np.ndarray
    logit: float


def nodes_of(text: str, renamed: dict[str, str]) -> list[onnx.NodeProto]:
    """Nodes in ONNX's text syntax, with names of the exported graph for some of theirs."""
    nodes = list(parser.parse_graph(f"part () => () {{\n{text}\n}}").node)
    for node in nodes:
        node.input[:] = [renamed.get(name, name) for name in node.input]
        node.name = f"/told/{node.output[0]}"
    return nodes


def told(plain: onnx.ModelProto, heads: Heads) -> onnx.ModelProto:
    """The graph with the inputs `token_type_ids` and `channel`, and with the heads."""
    if any(one.name == "channel" for one in plain.graph.input):
        raise ValueError("this network already reads the channel: start from the one of version 2.0.0")
    model = onnx.ModelProto()
    model.CopyFrom(plain)
    graph = model.graph
    graph.input.append(helper.make_tensor_value_info("token_type_ids", TensorProto.INT64, [1, "tokens"]))
    graph.input.append(helper.make_tensor_value_info("channel", TensorProto.INT64, [1]))
    constants = {
        "one": np.float32(1), "never": np.float32(-1e4), "axis_1": np.array([1]), "axis_2": np.array([2]), "task_bound": np.float32(TASK_BOUND),
        "channel_heads": heads.channels, "channel_biases": heads.biases, "task_head": heads.task, "task_bias": heads.task_bias,
    }  # fmt: skip
    graph.initializer.extend(numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items())
    # The network has the positions of a window alone: a task behind a full one has those of its last tokens.
    positions = next(one for one in graph.initializer if one.name == "positions.weight")
    places = numpy_helper.to_array(positions)
    positions.CopyFrom(numpy_helper.from_array(np.concatenate([places, places[-TASK - 1 :]]), positions.name))
    nodes = [onnx.NodeProto.FromString(node.SerializeToString()) for node in graph.node]
    for node in nodes:
        node.output[:] = ["plain_logit" if name == LOGIT else name for name in node.output]
    named = {node.name: node for node in nodes}
    # Attention, by its first user: the others are copies of it. The pool counts window tokens alone.
    for name, before, now in (("/layers.0/Cast_3", PADDING, "padding_and_task"), ("/Unsqueeze_3", MASK, "window_only")):
        named[name].input[list(named[name].input).index(before)] = now
    after = {
        MASK: helper.make_node("Mul", [MASK, "of_window"], ["window_only"], name="/told/window_only"),
        PADDING: helper.make_node("Add", [PADDING, "hidden_tokens"], ["padding_and_task"], name="/told/padding_and_task"),
    }
    del graph.node[:]
    graph.node.extend(nodes_of(TYPES, {}))
    for node in nodes:
        graph.node.append(node)
        graph.node.extend(after[name] for name in node.output if name in after)
    graph.node.extend(nodes_of(HEADS, {"pooled": POOLED, "states": STATES}))
    onnx.checker.check_model(model)
    return model


def no_heads(width: int) -> Heads:
    """Heads that add nothing."""
    return Heads(np.zeros((CHANNEL_COUNT, width), np.float32), np.zeros(CHANNEL_COUNT, np.float32), np.zeros(width, np.float32), np.zeros(1, np.float32))


def training_rows(data: Path, excluded: set[str], seed: int) -> list[Row]:
    """The texts with a channel, and older ones in other languages, in a random order."""
    rng = random.Random(seed)
    rows = [row for row in own_texts("channel") if row["split"] == "train"]
    rows += [row for name in ("authored-3", "authored-4") for row in read_rows(data / f"{name}.jsonl.gz") if row["split"] == "train"]
    others = [row for row in read_rows(data / "world-3-train.jsonl.gz") if may_be_learnt(row, excluded)]
    counts: Counter[tuple[str, str]] = Counter()
    for row in rng.sample(others, len(others)):
        counts[str(row["source"]), str(row["label"])] += 1
        if counts[str(row["source"]), str(row["label"])] <= EACH:
            rows.append(row)
    older = [
        row
        for row in own_texts("authored") + own_texts("world")
        if row.get("split") == "train" and row.get("lang", "en") != "en" and row.get("kind") not in {"plant", "keep"}
    ]
    older += [row for name in ("authored", "authored-2") for row in read_rows(data / f"{name}.jsonl.gz") if row["split"] == "train" and row["lang"] != "en"]
    rows += rng.sample(older, min(OLDER, len(older)))
    rng.shuffle(rows)
    return rows


def window_of(tokenizer: Tokenizer, row: Row, rng: random.Random) -> list[int]:
    """A window of a row: around the attack where its place is known, else the beginning of an attack, or any part of a benign text."""
    text = str(row["text"])
    if "span" in row:
        ids, (start, _) = encode_span(tokenizer, text, tuple(row["span"]))
        first = start - rng.randint(10, 60)
    else:
        ids = encode(tokenizer, text[:4000])
        first = 0 if row["label"] == "injection" else rng.randint(0, max(0, len(ids) - WINDOW))
    first = max(0, min(first, len(ids) - WINDOW))
    return ids[first : first + WINDOW]


def digest_of(model: onnx.ModelProto, rows: list[Row], seed: int) -> str:
    """What a look hangs on, as a name."""
    texts = "\0".join(f"{row['text']}\0{row.get('task')}" for row in rows)
    return hashlib.sha256(model.SerializeToString() + f"{seed}\0{texts}".encode("utf-8", "surrogatepass")).hexdigest()[:16]


def look_at(model: onnx.ModelProto, tokenizer: Tokenizer, rows: list[Row], seed: int) -> list[Look]:
    """What the network gives for a window of each row."""
    shown = onnx.ModelProto()
    shown.CopyFrom(model)
    shown.graph.output.extend(helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in (POOLED, STATES))
    session, rng = open_session(shown.SerializeToString()), random.Random(seed)
    looks = []
    for row in rows:
        ids, task = window_of(tokenizer, row, rng), encode(tokenizer, str(row["task"]))[-TASK:] if row.get("task") else []
        pooled, states, logit = session.run([POOLED, STATES, LOGIT], given(ids, task, UNKNOWN))
        of_task = states[0, len(ids) + 2 :]
        pooled_task = np.concatenate([of_task.mean(0), of_task.max(0)]) if task else np.zeros_like(pooled[0])
        looks.append(Look(pooled[0], pooled_task, float(logit[0])))
    return looks


def given(ids: Sequence[int], task: Sequence[int], channel: int) -> dict[str, np.ndarray]:
    """The inputs of a window."""
    row = np.array([[CLS, *ids, SEP, *task, SEP] if len(task) else [CLS, *ids, SEP]], np.int64)
    types = np.zeros_like(row)
    types[0, len(ids) + 2 :] = 1
    return {"input_ids": row, "attention_mask": np.ones_like(row), "token_type_ids": types, "channel": np.array([channel], np.int64)}


def fitted(looks: list[Look], channels: np.ndarray, positive: np.ndarray, scale: float) -> Heads:
    """The heads that fit best, held at zero; `scale` is that of the network's calibration. Rows without a channel fit nothing."""
    pooled, tasks = (np.stack([look[at] for look in looks]).astype(np.float32) for at in (0, 1))
    asked = np.abs(tasks).sum(1) > 0
    (mean, spread), (task_mean, task_spread) = ((part.mean(0), part.std(0) + 1e-3) for part in (pooled, tasks[asked]))
    known = torch.tensor(channels > UNKNOWN)
    features, task_features = torch.tensor((pooled - mean) / spread)[known], torch.tensor((tasks - task_mean) / task_spread * asked[:, None])[known]
    logits, has_task = torch.tensor([look.logit for look in looks])[known], torch.tensor(asked, dtype=torch.float32)[known]
    channel, goal = torch.tensor(channels)[known].long(), torch.tensor(positive * (1 - SMOOTHING) + SMOOTHING / 2, dtype=torch.float32)[known]
    parts = [torch.zeros(shape, requires_grad=True) for shape in ((CHANNEL_COUNT, features.shape[1]), (CHANNEL_COUNT,), (features.shape[1],), (1,))]
    heads, biases, task, task_bias = parts
    optimizer = torch.optim.LBFGS(parts, max_iter=STEPS, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        moved = TASK_BOUND * torch.tanh(task_features @ task + task_bias) * has_task
        odds = logits + (features * heads[channel]).sum(1) + biases[channel] + moved
        total = bce(scale * odds, goal) + HOLD * (heads**2).sum() / CHANNEL_COUNT + HOLD_TASK * (task**2).sum()
        total.backward()
        return total

    optimizer.step(loss)
    heads, biases, task, task_bias = (part.detach().numpy() for part in parts)
    # The graph doesn't standardise the features.
    return Heads(heads / spread, biases - heads @ (mean / spread), task / task_spread, task_bias - task @ (task_mean / task_spread))


def main() -> None:
    """Command line of `channel_head`."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--data", type=Path, required=True)
    arguments.add_argument("--work", type=Path, required=True, help="where what the network gives is kept: a second fit needs no look")
    arguments.add_argument("--deep", type=Path, required=True, help="folder of a released cascade")
    arguments.add_argument("--to", type=Path, required=True, help="folder to write, for `cascade --deep`")
    arguments.add_argument("--seed", type=int, default=5)
    args = arguments.parse_args()

    cascade = json.loads((args.deep / "manifest.json").read_text())
    deep = cascade["deep"]
    plain, tokenizer = onnx.load(str(args.deep / "deep-model.onnx")), load_tokenizer(args.deep / "deep-tokenizer.json")
    rows = training_rows(args.data, set(cascade["data"]["excluded_classes"]), args.seed)
    kept = args.work / f"looks-{digest_of(plain, rows, args.seed)}.npz"
    if not kept.exists():
        width = next(one.dims[0] for one in plain.graph.initializer if one.name == "head.weight_quantized")
        looks = look_at(told(plain, no_heads(width)), tokenizer, rows, args.seed)
        np.savez(kept, pooled=np.stack([look.pooled for look in looks]), task=np.stack([look.task for look in looks]), logit=[look.logit for look in looks])
    with np.load(kept) as stored:
        looks = [Look(*one) for one in zip(stored["pooled"], stored["task"], stored["logit"].tolist(), strict=True)]
    channels = np.array([channel_of(row) for row in rows])
    heads = fitted(looks, channels, np.array([row["label"] == "injection" for row in rows]), deep["calibration"]["scale"])

    args.to.mkdir(parents=True, exist_ok=True)
    onnx.save(told(plain, Heads(*(part.astype(np.float32) for part in heads))), args.to / "model.onnx")
    shutil.copyfile(args.deep / "deep-tokenizer.json", args.to / "tokenizer.json")
    shutil.copyfile(args.deep / "deep-golden.jsonl", args.to / "golden.jsonl")
    manifest = {name: deep[name] for name in ("base", "tokenizer", "window", "data")} | {
        "inputs": {"ids": "input_ids", "mask": "attention_mask", "types": "token_type_ids", "channel": "channel"},
        "task": {"tokens": TASK, "bound": TASK_BOUND},
        "files": {name: describe(args.to / name) for name in ("model.onnx", "tokenizer.json")},
    }
    (args.to / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
    print(json.dumps({"rows": len(rows), "with channel": int((channels > UNKNOWN).sum()), "with task": sum(bool(row.get("task")) for row in rows)}))


if __name__ == "__main__":
    main()
