"""Translations beside the labelled texts: the net is to see in one what a teacher sees in its English.

The teacher is an English model of ours (the base's pieces alone); its states are worked out once. A translation is held
against them at three depths, at the greatest values of the last layer, and in the logit.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ..data.harvest import fetch
from ..data.translated import Pair, interface_pairs, written_pairs
from ..data.vocabulary import base_vocabulary, write_tokenizer
from ..paths import HERE
from ..text.encode import encode, load_tokenizer
from .net import Screener, mean_of, padded, peak_of

DEPTHS = (1, 3, 5)
LONGEST, BUDGET = 120, 1500
LOGIT_SHARE = 0.05
# The share of the written pairs among all, and what other languages than the spoken-most count.
WRITTEN_SHARE, LESSER, ROOT = 1 / 3, 0.35, 0.6
MOST_SPOKEN = frozenset(["es", "de", "fr", "pt", "it", "nl", "ru", "pl", "uk", "tr", "cs", "sk", "ro", "sv", "da", "no", "zh", "ja", "ko", "ar", "hi", "vi", "id", "fa", "el", "hu", "he", "bg", "fi", "th", "bn", "hr", "lt"])


def states_of(net: Screener, ids: Tensor, mask: Tensor) -> tuple[list[Tensor], Tensor]:
    """The means of three layers and the greatest values of the last; the logit."""
    layers = net.encode(ids, mask)
    return [*(mean_of(layers[depth], mask) for depth in DEPTHS), peak_of(layers[-1], mask)], net.judge(layers[-1], mask)


def likelihoods(langs: list[str], written: int) -> np.ndarray:
    """How often each pair is drawn, the last `written` being those of this project: each language by a root of its size."""
    counts = Counter(langs)
    weights = np.array([(1 if lang in MOST_SPOKEN else LESSER) / counts[lang] ** ROOT for lang in langs])
    if 0 < written < len(langs):
        weights[-written:] *= WRITTEN_SHARE / (1 - WRITTEN_SHARE) * weights[:-written].sum() / weights[-written:].sum()
    return weights / weights.sum()


class Translations:
    """Batches of translations, and how far a net is from what the teacher saw."""

    def __init__(self, teacher: dict[str, Tensor], work: Path, seed: int) -> None:
        written = written_pairs(HERE / "data" / "translated")
        pairs: list[Pair] = interface_pairs(fetch(HERE / "packages-translated.txt", work / "sources")) + written
        write_tokenizer(base_vocabulary(), work / "tokenizer-base.json")
        before, after = load_tokenizer(work / "tokenizer-base.json"), load_tokenizer(work / "tokenizer.json")
        english = sorted({pair.english for pair in pairs})
        place = {text: number for number, text in enumerate(english)}
        self.english = np.array([place[pair.english] for pair in pairs])
        self.other = [encode(after, pair.other)[:LONGEST] for pair in pairs]
        self.weights = likelihoods([pair.lang for pair in pairs], len(written))
        self.rng = np.random.default_rng(seed)
        net = Screener()
        net.load_state_dict(teacher)
        net.eval()
        self.states, self.logits = self._watch(net, [encode(before, text)[:LONGEST] for text in english])
        self.spread = [state.float().std(0) + 1e-3 for state in self.states]
        self.stream = self._batches()

    @staticmethod
    @torch.no_grad()
    def _watch(net: Screener, texts: list[list[int]]) -> tuple[list[Tensor], Tensor]:
        order = sorted(range(len(texts)), key=lambda number: len(texts[number]))
        parts: list[list[Tensor]] = []
        logits = torch.zeros(len(texts))
        for first in range(0, len(order), 64):
            chosen = order[first : first + 64]
            states, logit = states_of(net, *padded([texts[number] for number in chosen]))
            parts.append([state.half() for state in states])
            logits[chosen] = logit
        back = torch.tensor(order).argsort()
        return [torch.cat(column)[back] for column in zip(*parts, strict=True)], logits

    def _batches(self) -> Iterator[list[int]]:
        while True:
            drawn = self.rng.choice(len(self.other), 2048, p=self.weights)
            ordered = sorted(drawn.tolist(), key=lambda number: len(self.other[number]))
            batches: list[list[int]] = [[]]
            for number in ordered:
                if (len(batches[-1]) + 1) * (len(self.other[number]) + 2) > BUDGET:
                    batches.append([])
                batches[-1].append(number)
            yield from (batches[number] for number in self.rng.permutation(len(batches)) if batches[number])

    def loss(self, net: Screener) -> Tensor:
        """Of the next batch: 1 for a net that always says the mean."""
        chosen = next(self.stream)
        device = net.kind.device
        ids, mask = padded([self.other[number] for number in chosen])
        states, logit = states_of(net, ids.to(device), mask.to(device))
        seen = self.english[chosen]
        apart = [
            ((state - told[seen].to(device, torch.float)) / spread.to(device)).pow(2).mean()
            for state, told, spread in zip(states, self.states, self.spread, strict=True)
        ]
        return torch.stack(apart).mean() + LOGIT_SHARE * (logit - self.logits[seen].to(device)).pow(2).mean()
