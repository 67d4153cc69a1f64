"""`train`: fine-tune the base on the prepared windows for a given time, with checkpoints.

The learning rate decays by elapsed time, so that a slow machine still ends its schedule. A stopped run goes on
from its last checkpoint. The archive is read again when it has changed (texts authored during a run join it).
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits as bce

from ..data.base import base_folder
from ..paths import HERE
from ..scoring.metrics import auc, recall_at
from ..text.windows import CONTENT
from .align import grow
from .net import VOCAB, Screener, load_base, padded, screener, second_kind
from .sampling import Archive, Sample, batches, plain, read_mixture, round_samples

SMOOTHING = 0.02
# On a CPU with AVX-512 bf16 3.5 times the tokens of fp32 a second; on others bfloat16 is emulated, and slower than fp32.
CPU_FLAGS = Path("/proc/cpuinfo")
BF16 = CPU_FLAGS.exists() and "avx512_bf16" in CPU_FLAGS.read_text()
TOKEN_SHARE = 0.3
# From this share of the schedule on, a sample within HARD of its label is learnt with the chance EASY_SHARE only.
SELECT_FROM, HARD, EASY_SHARE, GROUP = 0.1, 0.12, 0.15, 12


def goal(sample: Sample) -> float:
    """The probability to learn: the smoothed label."""
    return sample.label * (1 - SMOOTHING) + SMOOTHING / 2


def inputs(batch: list[Sample], device: torch.device) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Ids, mask, types and channels."""
    parts = padded([sample.ids for sample in batch], [sample.task for sample in batch])
    return *(part.to(device) for part in parts), torch.tensor([sample.channel for sample in batch], device=device)  # type: ignore[return-value]


def collate(batch: list[Sample], device: torch.device) -> tuple[tuple[Tensor, Tensor, Tensor, Tensor], Tensor, Tensor, Tensor]:
    """A net's inputs, goals, token targets and token weights (0 where a token's label is not known)."""
    given = inputs(batch, device)
    ids = given[0]
    target = np.zeros(ids.shape, np.float32)
    weight = np.zeros(ids.shape, np.float32)
    for row, sample in enumerate(batch):
        if sample.span is not None:
            weight[row, 1 : len(sample.ids) + 1] = 1
            target[row, 1 + sample.span[0] : 1 + sample.span[1]] = 1
            weight[row, 1 + sample.span[0] : 1 + sample.span[1]] = 3
    goals = np.array([goal(sample) for sample in batch], np.float32)
    goals_t, target_t, weight_t = (torch.from_numpy(one).to(device) for one in (goals, target, weight))
    return given, goals_t, target_t, weight_t


def autocast(device: torch.device) -> torch.autocast:
    """bfloat16 where the CPU computes with it."""
    return torch.autocast(device.type, torch.bfloat16, enabled=BF16)


def loss_of(net: Screener, batch: list[Sample], device: torch.device) -> Tensor:
    """Document loss plus a share of the token loss."""
    given, goals, target, weight = collate(batch, device)
    with autocast(device):
        logit, tokens = net(*given)
    document = bce(logit.float(), goals, reduction="sum") / (len(batch) * 20) ** 0.5
    token = (bce(tokens.float(), target, reduction="none") * weight).sum() / weight.sum().clamp(min=1)
    return document + TOKEN_SHARE * token


@torch.no_grad()
def quick_scores(net: Screener, samples: list[Sample], device: torch.device) -> np.ndarray:
    """Document logits of short samples, in order."""
    net.eval()
    order = sorted(range(len(samples)), key=lambda index: samples[index].tokens)
    scores = np.zeros(len(samples))
    for start in range(0, len(order), 32):
        part = order[start : start + 32]
        given = inputs([samples[index] for index in part], device)
        with autocast(device):
            scores[part] = net(*given)[0].float().cpu().numpy()
    net.train()
    return scores


def hard_samples(net: Screener, batch: list[Sample], device: torch.device, rng: np.random.Generator) -> list[Sample]:
    """The samples that the net gets wrong or nearly so, and a few of the others.

    A look costs a third of a training step and most generated texts are soon learnt: so more texts pass by in the
    same time, and every source offers its own hard negatives.
    """
    wrong = 1 / (1 + np.exp(-quick_scores(net, batch, device)))
    labels = np.array([sample.label for sample in batch])
    keep = (np.abs(wrong - labels) > HARD) | (rng.random(len(batch)) < EASY_SHARE)
    return [sample for sample, kept in zip(batch, keep, strict=True) if kept]


def rate(elapsed: float, total: float) -> float:
    """Share of the peak learning rate: 2 % warm-up, then linear decay to 2 %."""
    progress = min(1.0, elapsed / total)
    return progress / 0.02 if progress < 0.02 else max(0.02, (1 - progress) / 0.98)


def larger(base: Path, layers: int | None) -> Screener:
    """A larger net from the weights of `multilingual`: all of its layers, or so many of the lowest."""
    stored = load_file(str(base))
    depth = layers or 1 + max(int(name.split(".")[2]) for name in stored if name.startswith("encoder.layer."))
    pieces, width = stored["embeddings.word_embeddings.weight"].shape
    net = Screener(pieces, layers=depth, width=width)
    load_base(net, base)
    for head in (net.head, net.token_head):
        torch.nn.init.normal_(head.weight, std=0.02)
    return net


def freeze(net: Screener, layers: int) -> None:
    """Word vectors, positions and the lowest layers stay as they are."""
    for part in [net.words, net.positions, net.norm, *net.layers[:layers]]:
        part.requires_grad_(False)
    net.kind.requires_grad_(False)


def student(init: Path | None, work: Path) -> Screener:
    """A student with the weights of `init`, or of the base; heads that the base lacks are drawn at random."""
    if init:
        weights = torch.load(init, map_location="cpu")
    else:
        net = Screener()
        load_base(net, base_folder() / "model.safetensors")
        torch.nn.init.normal_(net.head.weight, std=0.02)
        torch.nn.init.normal_(net.token_head.weight, std=0.02)
        weights = net.state_dict()
    if len(weights["words.weight"]) == VOCAB:
        weights = grow(weights, work)
    if "task_kind" not in weights:
        weights = weights | {"task_kind": second_kind(base_folder() / "model.safetensors")}
    return screener(weights)


def parameter_groups(net: Screener) -> list[dict]:
    """The trained parameters by the length of their steps: heads start from nothing, and most word pieces are seen seldom."""
    heads = [*net.head.parameters(), *net.token_head.parameters(), *net.task_head.parameters()]
    words, added = [net.words.weight], [net.channels.weight, net.task_kind]
    apart = {id(parameter) for parameter in heads + words + added}
    body = [parameter for parameter in net.parameters() if id(parameter) not in apart]
    groups = [
        {"params": body, "scale": 1.0},
        {"params": heads, "scale": 4.0},
        {"params": words, "scale": 3.0, "weight_decay": 0.0},
        {"params": added, "scale": 8.0, "weight_decay": 0.0},
    ]
    trained = [group | {"params": [parameter for parameter in group["params"] if parameter.requires_grad]} for group in groups]
    return [group for group in trained if group["params"]]


def main() -> None:
    """Command line of `train`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--run", default="main", help="name of the run: its checkpoints lie in WORK/runs/NAME")
    parser.add_argument("--mixture", type=Path, default=HERE / "mixture.json")
    parser.add_argument("--init", type=Path, help="weights to start from, instead of the base")
    parser.add_argument("--base", type=Path, help="weights of another BERT base (`multilingual`) to start from")
    parser.add_argument("--layers", type=int, help="with --base: take so many of its lowest layers instead of all")
    parser.add_argument("--frozen", type=int, help="word vectors and so many of the lowest layers stay as they are")
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument("--rate", type=float, default=1.5e-4)
    parser.add_argument("--budget", type=int, default=2048, help="padded tokens a batch")
    parser.add_argument("--rounds", type=int, default=6, help="rounds an epoch")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plain", action="store_true", help="a control: hide every channel and task")
    args = parser.parse_args()

    torch.set_num_threads(args.threads)
    torch.set_flush_denormal(True)
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    folder = args.work / "runs" / args.run
    folder.mkdir(parents=True, exist_ok=True)
    archive_path, checkpoint = args.work / "train.npz", folder / "checkpoint.pt"

    net = larger(args.base, args.layers) if args.base else student(args.init, args.work)
    if args.frozen is not None:
        freeze(net, args.frozen)
    net.to(device).train()
    optimizer = torch.optim.AdamW(parameter_groups(net), lr=args.rate, weight_decay=0.01, fused=True)
    state = {"elapsed": 0.0, "step": 0, "number": 0, "batch": 0, "tokens": 0, "samples": 0, "seen": 0}
    if checkpoint.exists():
        stored = torch.load(checkpoint, map_location=device)
        net.load_state_dict(stored["net"])
        optimizer.load_state_dict(stored["optimizer"])
        state = stored["state"]

    def log(**fields: object) -> None:
        line = json.dumps({"minutes": round(state["elapsed"] / 60, 1), "step": state["step"], **fields})
        with (folder / "log.jsonl").open("a") as out:
            out.write(line + "\n")
        print(line, flush=True)

    def save() -> None:
        torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict(), "state": state}, folder / "part.pt")
        (folder / "part.pt").replace(checkpoint)

    total = args.minutes * 60
    dev = Archive.load(args.work / "dev-quick.npz") if (args.work / "dev-quick.npz").exists() else None
    saved, stamp, archive = time.monotonic(), 0.0, None
    smooth = 0.0
    while state["elapsed"] < total:
        if archive is None or archive_path.stat().st_mtime != stamp:
            stamp, archive = archive_path.stat().st_mtime, Archive.load(archive_path)
            mixture = read_mixture(args.mixture)
        samples = round_samples(archive, mixture, state["number"], args.rounds, args.seed)
        if args.plain:
            samples = [plain(sample) for sample in samples]
        plan = batches(samples, args.budget, np.random.default_rng([args.seed, state["number"]]))
        log(round=state["number"], first=state["batch"], batches=len(plan), samples=len(samples), injection=sum(one.label for one in samples))
        for first in range(state["batch"], len(plan), GROUP):
            began = time.monotonic()
            rng = np.random.default_rng([args.seed, state["number"], first])
            group = plan[first : first + GROUP]
            state["seen"] = state.get("seen", 0) + sum(len(batch) for batch in group)
            if state["elapsed"] > SELECT_FROM * total:
                group = batches([one for batch in group for one in hard_samples(net, batch, device, rng)], args.budget, rng)
            state["elapsed"] += time.monotonic() - began
            for batch in group:
                began = time.monotonic()
                for part in optimizer.param_groups:
                    part["lr"] = args.rate * part["scale"] * rate(state["elapsed"], total)
                loss = loss_of(net, batch, device)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
                smooth = loss.item() if not smooth else 0.98 * smooth + 0.02 * loss.item()
                state["step"] += 1
                state["samples"] += len(batch)
                state["tokens"] += sum(sample.tokens for sample in batch)
                state["elapsed"] += time.monotonic() - began
                if state["step"] % 50 == 0:
                    log(loss=round(smooth, 4), seen=state["seen"], tokens=state["tokens"], samples=state["samples"])
            state["batch"] = first + GROUP
            if time.monotonic() - saved > 180:
                save()
                saved = time.monotonic()
            if state["elapsed"] >= total:
                break
        else:
            state["number"], state["batch"] = state["number"] + 1, 0
        save()
        torch.save(net.state_dict(), folder / f"weights-{state['number']:03d}.pt")
        if dev:
            began = time.monotonic()
            labels = dev.labels.astype(bool)
            shown = [Sample(dev.row(i)[:CONTENT], 0, None, int(dev.channels[i]), dev.task(i)) for i in range(len(labels))]
            scores = quick_scores(net, [plain(sample) for sample in shown] if args.plain else shown, device)
            figures = {}
            for name in sorted(set(dev.groups.tolist())):
                part = dev.groups == name
                figures[name] = [round(auc(scores[part], labels[part]), 4), round(recall_at(scores[part], labels[part], 0.01), 4)]
            state["elapsed"] += time.monotonic() - began
            log(dev=figures)
    torch.save(net.state_dict(), folder / "weights.pt")
    log(done=True, tokens=state["tokens"], samples=state["samples"])


if __name__ == "__main__":
    main()
