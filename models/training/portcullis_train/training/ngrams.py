"""`ngrams`: a linear model over hashed n-grams of word pieces, whose logit is added to the encoder's.

The encoder reads what a text means, the linear model which words it uses together. They make different mistakes, so their sum ranks
texts of other people better than either (`record/ngrams.md`). Features are hashed into a table of one weight each (Weinberger et
al., "Feature Hashing for Large Scale Multitask Learning", 2009; the linear model of fastText). It is integer arithmetic and one
embedding lookup, so it is part of the model's ONNX graph and adds about 1 % to a run.
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits as bce

from ..data.channels import UNKNOWN
from ..paths import HERE
from .net import padded
from .sampling import Archive, Sample, batches, plain, read_mixture, round_samples
from .train import goal

BUCKETS = 1 << 19
# A product of two numbers below it fits in 63 bits.
PRIME, FACTOR = (1 << 31) - 1, 1_000_003 * 1_009
# Added to a channel, so that its n-grams hash apart from longer ones.
FIRST_CHANNEL = 50_000
EPOCHS, RATE = 3, 0.2
BUDGET, ROUNDS = 2048, 8
# Which words a text uses tells nothing of its task, so that texts whose label hangs on it teach nothing here; nor, without a channel, do those whose label hangs on that.
BY_TASK = ("contrast", "authored3 data_delegated", "authored4 data_delegated", "authored4 data_order", "own c-delegated")
BY_CHANNEL = ("contrast", "authored3", "authored4", "own c-")


def mixed(hashed: Tensor, ids: Tensor | int) -> Tensor:
    """One more piece in the hash of an n-gram."""
    return (hashed * FACTOR + ids) % PRIME


class HashedNgrams(nn.Module):
    """Gives a logit per window from its pieces, pairs, triples and pairs with one piece between them.

    With `apart`, each n-gram counts twice: once in all channels, and once in the window's channel alone. Where the channel is unknown it
    counts once, in the last third of the table.
    """

    def __init__(self, buckets: int = BUCKETS, apart: bool = False) -> None:
        super().__init__()
        self.register_buffer("apart", torch.tensor(apart))
        self.table = nn.Embedding(buckets, 1, sparse=True)
        nn.init.zeros_(self.table.weight)
        self.bias = nn.Parameter(torch.zeros(1))

    def features(self, ids: Tensor, mask: Tensor, channel: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Buckets of the n-grams of `[windows, pieces]`, and which of them lie inside the window."""
        pair = mixed(mixed(ids[:, :-1], 2), ids[:, 1:])
        triple = mixed(pair[:, :-1], ids[:, 2:])
        gap = mixed(mixed(ids[:, :-2], 3), ids[:, 2:])
        hashed = torch.cat([mixed(ids, 1), pair, triple, gap], 1)
        inside = torch.cat([mask, mask[:, 1:], mask[:, 2:], mask[:, 2:]], 1)
        buckets = self.table.num_embeddings
        if channel is None:
            return hashed % buckets, inside
        known, third = channel[:, None] != UNKNOWN, buckets // 3
        first = torch.where(known, hashed % (2 * third), hashed % third + 2 * third)
        own = mixed(hashed, channel[:, None] + FIRST_CHANNEL) % (2 * third)
        return torch.cat([first, own], 1), torch.cat([inside, inside * known.to(inside.dtype)], 1)

    def forward(self, ids: Tensor, mask: Tensor, channel: Tensor | None = None) -> Tensor:
        buckets, inside = self.features(ids, mask, channel if self.apart else None)
        weights = inside.to(self.bias.dtype)
        return (self.table(buckets).squeeze(2).to(weights.dtype) * weights).sum(1) / weights.sum(1).sqrt() + self.bias


def load_ngrams(weights: Path) -> HashedNgrams:
    """The model of a run."""
    state = torch.load(weights, map_location="cpu")
    apart = state.setdefault("apart", torch.tensor(False))
    model = HashedNgrams(len(state["table.weight"]), bool(apart))
    model.load_state_dict(state)
    return model


def fit(model: HashedNgrams, samples: list[Sample], epochs: int, rate: float, seed: int) -> None:
    """Logistic regression by Adagrad."""
    optimizers = [torch.optim.Adagrad([parameter], lr=rate) for parameter in (model.table.weight, model.bias)]
    for epoch in range(epochs):
        total = 0.0
        for batch in batches(samples, BUDGET, np.random.default_rng([seed, epoch])):
            ids, mask, _ = padded([sample.ids for sample in batch])
            channels = torch.tensor([sample.channel for sample in batch])
            goals = torch.tensor([goal(sample) for sample in batch])
            part = bce(model(ids, mask, channels), goals)
            part.backward()
            for optimizer in optimizers:
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
            total += part.item() * len(batch)
        print(f"epoch {epoch + 1}: loss {total / len(samples):.4f}", flush=True)


def learnt(archive: Archive, told: dict, untold: dict, seed: int) -> list[Sample]:
    """Windows with a channel of one mixture, and without one of another."""
    known = (sample for number in range(ROUNDS) for sample in round_samples(archive, told, number, ROUNDS, seed, BY_TASK))
    unknown = (sample for number in range(ROUNDS) for sample in round_samples(archive, untold, number, ROUNDS, seed, BY_CHANNEL))
    return [sample for sample in known if sample.channel != UNKNOWN] + [plain(sample) for sample in unknown]


def main() -> None:
    """Command line of `ngrams`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--run", default="ngrams", help="name of the run: its weights are WORK/runs/NAME/weights.pt")
    parser.add_argument("--mixture", type=Path, default=HERE / "mixture-channel.json", help="of texts with a channel")
    parser.add_argument("--untold", type=Path, default=HERE / "mixture-world.json", help="the mixture of texts without one")
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--rate", type=float, default=RATE)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=5)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    samples = learnt(Archive.load(args.work / "train.npz"), read_mixture(args.mixture), read_mixture(args.untold), args.seed)
    model = HashedNgrams(3 * BUCKETS, apart=True)
    fit(model, samples, args.epochs, args.rate, args.seed)
    folder = args.work / "runs" / args.run
    folder.mkdir(parents=True, exist_ok=True)
    torch.save(model.state_dict(), folder / "weights.pt")


if __name__ == "__main__":
    main()
