"""`language`: a linear model over hashed n-grams that says whether a window is English, for calibration.

Benign texts in other languages get greater logits than English ones, so one threshold blocks more of them. The released model
subtracts `OFFSET` times the probability that a window is not English (`record/language.md`).
"""

import argparse
from collections import defaultdict
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from ..data.rows import Row, own_texts, read_rows
from ..data.world import world_rows
from ..text.encode import encode, load_tokenizer
from ..text.windows import CONTENT
from .ngrams import EPOCHS, RATE, HashedNgrams, fit
from .sampling import Sample

BUCKETS = 1 << 16
# What a window that is surely not English loses of its logit.
OFFSET = 0.8
# Texts of a language, and of English; windows of at least so many pieces, and how many a text gives.
EACH, ENGLISH, SHORTEST, WINDOWS = 400, 12_000, 6, 2


class LanguageOffset(nn.Module):
    """What the logit of a window loses because it is not English."""

    def __init__(self, ngrams: HashedNgrams) -> None:
        super().__init__()
        self.ngrams = ngrams

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        return OFFSET * self.ngrams(ids, mask).sigmoid()


def training_rows(data: Path) -> list[Row]:
    """The texts that may be learnt from, with the language of each."""
    rows = [*read_rows(data / "train.jsonl.gz"), *world_rows(data), *read_rows(data / "authored.jsonl.gz")]
    rows += [*own_texts("authored"), *own_texts("world")]
    return [row for row in rows if row.get("split", "train") == "train"]


def training_samples(rows: list[Row], tokenizer: Tokenizer, seed: int) -> list[Sample]:
    """Windows of all lengths; the label is 1 where the text is not English. No language has many times the texts of another."""
    rng = np.random.default_rng(seed)
    by_language: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        by_language[str(row["lang"])].append(str(row["text"]))
    samples = []
    for language, texts in sorted(by_language.items()):
        english = language == "en"
        for text in rng.permutation(np.array(texts, object))[: ENGLISH if english else EACH]:
            ids = np.array(encode(tokenizer, text[:5000]))
            for _ in range(WINDOWS if len(ids) > SHORTEST else 0):
                size = int(rng.integers(SHORTEST, min(len(ids), CONTENT) + 1))
                start = int(rng.integers(0, len(ids) - size + 1))
                samples.append(Sample(ids[start : start + size], int(not english), None))
    return samples


def main() -> None:
    """Command line of `language`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--run", default="language", help="name of the run: its weights are WORK/runs/NAME/weights.pt")
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    torch.set_num_threads(1)
    samples = training_samples(training_rows(args.data), load_tokenizer(args.work / "tokenizer.json"), args.seed)
    model = HashedNgrams(BUCKETS)
    fit(model, samples, EPOCHS, RATE, args.seed)
    folder = args.work / "runs" / args.run
    folder.mkdir(parents=True, exist_ok=True)
    torch.save(model.state_dict(), folder / "weights.pt")
    print(f"{len(samples)} windows, {sum(sample.label for sample in samples)} not English")


if __name__ == "__main__":
    main()
