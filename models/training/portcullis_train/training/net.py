"""BERT encoder (MiniLM, or multilingual BERT) with a document head and a token head, in plain PyTorch."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from ..text.encode import CLS, PAD, SEP

# The student's: MiniLM-L6. Multilingual BERT has 12 layers of 768, and as many heads.
LAYERS, WIDTH, HEADS, VOCAB, POSITIONS = 6, 384, 12, 30522, 512
# How far a task may move a text's log-odds, either way. It is a bound of the graph itself: window tokens never attend to the task's.
TASK_BOUND = 3.0
# unknown, user, data, tool call, instructions: `data/channels.py`
CHANNEL_COUNT = 5
ADDED = {"task_kind", "channels.weight", "task_head.weight", "task_head.bias"}


class Layer(nn.Module):
    """One post-norm transformer layer. Attention is written out: on CPU it beats the fused kernel."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm1 = nn.LayerNorm(width, eps=1e-12)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)
        self.norm2 = nn.LayerNorm(width, eps=1e-12)

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        batch, length, width = x.shape
        query, key, value = self.qkv(x).view(batch, length, 3, HEADS, width // HEADS).permute(2, 0, 3, 1, 4)
        weights = query @ key.transpose(-1, -2) * (width // HEADS) ** -0.5 + bias.to(query.dtype)
        mixed = (weights.softmax(-1).to(value.dtype) @ value).transpose(1, 2).reshape(batch, length, width)
        x = self.norm1(x + self.out(mixed))
        return self.norm2(x + self.down(nn.functional.gelu(self.up(x))))


class Screener(nn.Module):
    """Gives `logit` per text (mean and max pool) and `token_logits` per token.

    A text is `[CLS] window [SEP]`, with a task `[CLS] window [SEP] task [SEP]`; `types` is 1 for the task's tokens. Every token carries the
    vector of its channel. Task tokens attend to all, window tokens to the window alone, and what the task adds is
    `TASK_BOUND * tanh(...)` of the pooled task tokens: so a task can move the log-odds by no more than the bound.

    A released model also has `ngrams` (`HashedNgrams`), whose logit is added, and `language` (`LanguageOffset`), which is subtracted;
    both are trained apart.
    """

    def __init__(self, pieces: int = VOCAB, dropout: float = 0.1, layers: int = LAYERS, width: int = WIDTH) -> None:
        super().__init__()
        self.words = nn.Embedding(pieces, width)
        self.positions = nn.Embedding(POSITIONS, width)
        self.kind = nn.Parameter(torch.zeros(width))
        self.task_kind = nn.Parameter(torch.zeros(width))
        self.channels = nn.Embedding(CHANNEL_COUNT, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.layers = nn.ModuleList(Layer(width) for _ in range(layers))
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(2 * width, 1)
        self.token_head = nn.Linear(width, 1)
        self.task_head = nn.Linear(2 * width, 1)
        for added in (self.channels.weight, self.task_head.weight, self.task_head.bias):
            nn.init.zeros_(added)
        self.ngrams: nn.Module | None = None
        self.language: nn.Module | None = None

    def encode(self, ids: Tensor, mask: Tensor, types: Tensor, channel: Tensor) -> list[Tensor]:
        """What each layer gives, per token."""
        of_task = types.to(self.kind.dtype)
        kinds = self.kind + of_task[:, :, None] * self.task_kind
        x = self.norm(self.words(ids) + self.positions.weight[: ids.shape[1]] + kinds) + self.channels(channel)[:, None]
        seen = mask.to(x.dtype)[:, None, :] * (1.0 - (1.0 - of_task)[:, :, None] * of_task[:, None, :])
        bias = (1.0 - seen)[:, None] * -1e4
        given = []
        for layer in self.layers:
            x = layer(x, bias)
            given.append(x)
        return given

    def judge(self, x: Tensor, window: Tensor) -> Tensor:
        """The document logit from the last layer's window tokens."""
        return self.head(self.dropout(pooled(x, window))).squeeze(1)

    def task_part(self, x: Tensor, task: Tensor) -> Tensor:
        """What the task adds to the logit; 0 without one."""
        moved = TASK_BOUND * torch.tanh(self.task_head(self.dropout(pooled(x, task))).squeeze(1))
        return moved * task.amax(1).to(moved.dtype)

    def forward(self, ids: Tensor, mask: Tensor, types: Tensor, channel: Tensor) -> tuple[Tensor, Tensor]:
        x = self.encode(ids, mask, types, channel)[-1].float()
        window, task = mask * (1 - types), mask * types
        logit = self.judge(x, window)
        if self.ngrams is not None:
            logit = logit + self.ngrams(ids, window, channel)
        if self.language is not None:
            logit = logit - self.language(ids, window)
        return logit + self.task_part(x, task), self.token_head(self.dropout(x)).squeeze(2)


def padded(sequences: Sequence[Sequence[int] | np.ndarray], tasks: Sequence[Sequence[int] | np.ndarray] | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Ids of content tokens with the special ones around them and the task behind them, mask, and types (1: of the task)."""
    tasks = tasks or [()] * len(sequences)
    length = max(len(sequence) + 2 + (len(task) + 1 if len(task) else 0) for sequence, task in zip(sequences, tasks, strict=True))
    ids = np.full((len(sequences), length), PAD, np.int64)
    mask, types = np.zeros((2, len(sequences), length), np.int64)
    for row, (sequence, task) in enumerate(zip(sequences, tasks, strict=True)):
        end = len(sequence) + 1
        ids[row, 0], ids[row, 1:end], ids[row, end] = CLS, sequence, SEP
        if len(task):
            ids[row, end + 1 : end + 1 + len(task)] = task
            types[row, end + 1 : end + 2 + len(task)] = 1
            end += len(task) + 1
            ids[row, end] = SEP
        mask[row, : end + 1] = 1
    return torch.from_numpy(ids), torch.from_numpy(mask), torch.from_numpy(types)


def pooled(x: Tensor, mask: Tensor) -> Tensor:
    """Mean and greatest value over the tokens of a mask, side by side."""
    return torch.cat([mean_of(x, mask), peak_of(x, mask)], 1)


def mean_of(x: Tensor, mask: Tensor) -> Tensor:
    """Mean over a text's tokens."""
    weight = mask.to(x.dtype)[:, :, None]
    return (x * weight).sum(1) / weight.sum(1).clamp(min=1)


def peak_of(x: Tensor, mask: Tensor) -> Tensor:
    """Greatest value over a text's tokens, dimension by dimension."""
    return (x + (1.0 - mask.to(x.dtype)[:, :, None]) * -1e4).amax(1)


def screener(weights: dict[str, Tensor]) -> Screener:
    """A `Screener` with these weights, which tell its vocabulary, its depth and its width."""
    depth = 1 + max(int(name.split(".")[1]) for name in weights if name.startswith("layers."))
    pieces, width = weights["words.weight"].shape
    net = Screener(pieces, layers=depth, width=width)
    missing, unexpected = net.load_state_dict(weights, strict=False)
    # Weights from before channels and tasks: the added parts start at zero and change nothing.
    if unexpected or not set(missing) <= ADDED:
        raise ValueError(f"these are no weights of a Screener: missing {missing}, unexpected {unexpected}")
    return net


def second_kind(weights: Path) -> Tensor:
    """BERT's second token type, as what it adds to the first."""
    first, second = load_file(str(weights))["embeddings.token_type_embeddings.weight"]
    return second - first


def load_base(net: Screener, weights: Path) -> None:
    """Copy the weights of a Hugging Face BertModel file into `net`; the heads stay as they are."""
    source = load_file(str(weights))
    source = {name.removeprefix("bert."): value for name, value in source.items()}
    target = {
        "words.weight": source["embeddings.word_embeddings.weight"],
        "positions.weight": source["embeddings.position_embeddings.weight"],
        "kind": source["embeddings.token_type_embeddings.weight"][0],
        "task_kind": second_kind(weights),
        "norm.weight": source["embeddings.LayerNorm.weight"],
        "norm.bias": source["embeddings.LayerNorm.bias"],
    }
    names = {
        "out": "attention.output.dense",
        "norm1": "attention.output.LayerNorm",
        "up": "intermediate.dense",
        "down": "output.dense",
        "norm2": "output.LayerNorm",
    }
    for index in range(len(net.layers)):
        prefix = f"encoder.layer.{index}"
        for kind in ("weight", "bias"):
            parts = [source[f"{prefix}.attention.self.{part}.{kind}"] for part in ("query", "key", "value")]
            target[f"layers.{index}.qkv.{kind}"] = torch.cat(parts)
            for ours, theirs in names.items():
                target[f"layers.{index}.{ours}.{kind}"] = source[f"{prefix}.{theirs}.{kind}"]
    missing, unexpected = net.load_state_dict(target, strict=False)
    if unexpected or {name.split(".")[0] for name in missing} != {"head", "token_head", "channels", "task_head"}:
        raise ValueError(f"base weights do not fit: missing {missing}, unexpected {unexpected}")
