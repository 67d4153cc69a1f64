"""The linear model of hashed n-grams."""

from pathlib import Path

import numpy as np
import onnxruntime
import torch

from portcullis_train.training.net import padded
from portcullis_train.training.ngrams import PRIME, HashedNgrams, fit, learnt, mixed
from portcullis_train.training.sampling import Archive, Sample


def drawn() -> HashedNgrams:
    model = HashedNgrams(1 << 12)
    torch.nn.init.normal_(model.table.weight, generator=torch.Generator().manual_seed(1))
    return model


def test_padding_changes_nothing():
    model = drawn()
    texts = [[5, 6, 7], [], [9] * 40, [30_000, 36_999, 5]]
    with torch.no_grad():
        together = model(*padded(texts)[:2])
        alone = torch.cat([model(*padded([text])[:2]) for text in texts])
    assert torch.allclose(together, alone, atol=1e-5)


def test_windows_without_a_channel_have_a_third_of_the_table_to_themselves():
    model = HashedNgrams(3 << 10, apart=True)
    torch.nn.init.normal_(model.table.weight, generator=torch.Generator().manual_seed(1))
    ids, mask, _ = padded([[5, 6, 7, 8]] * 3)
    channels = torch.tensor([0, 1, 2])
    with torch.no_grad():
        unknown, user, data = model(ids, mask, channels).tolist()
        assert len({unknown, user, data}) == 3
        model.table.weight[2 << 10 :] = 0
        assert model(ids, mask, channels).tolist() == [model.bias.item(), user, data]


def test_what_words_cannot_tell_teaches_nothing():
    keys = ["tau/benign", "contrast order/injection", "own c-delegated/benign", "authored3 data_order/injection"]
    archive = Archive(
        ids=np.repeat(np.arange(1, 5), 3), offsets=np.arange(0, 15, 3), spans=np.full((4, 2), -1), windows=np.full((4, 2), -1), labels=np.array([0, 1, 0, 1]), keys=np.array(keys),
        groups=np.array(["indirect"] * 4), channels=np.full(4, 2, np.int8), tasks=np.zeros(0, np.int32), task_offsets=np.zeros(5, np.int64),
    )  # fmt: skip
    mixture = {"default_cap": 400, "authored": {"repeat": 100}, "own": {"repeat": 100}, "sources": {key: {"repeat": 100} for key in keys}}
    samples = learnt(archive, mixture, mixture, seed=1)
    rows = {channel: {keys[sample.ids[0] - 1] for sample in samples if sample.channel == channel} for channel in (0, 2)}
    assert rows == {2: {"tau/benign", "authored3 data_order/injection"}, 0: {"tau/benign"}}
    assert not any(len(sample.task) for sample in samples)


def test_the_order_of_pieces_counts():
    model = drawn()
    with torch.no_grad():
        first, second = (model(*padded([text])[:2]).item() for text in ([5, 6, 7, 8], [5, 7, 6, 8]))
    assert abs(first - second) > 1e-3


def test_a_hash_never_leaves_63_bits():
    greatest = mixed(torch.tensor([PRIME - 1]), PRIME - 1).item()
    factor = 1_000_003 * 1_009
    assert greatest == ((PRIME - 1) * factor + PRIME - 1) % PRIME


def test_it_learns_a_pair_that_single_pieces_do_not_tell():
    rng = np.random.default_rng(2)
    samples = []
    for _ in range(400):
        noise = rng.integers(1000, 1010, 6).tolist()
        label = int(rng.integers(2))
        samples.append(Sample(np.array(noise[:3] + ([7, 8] if label else [8, 7]) + noise[3:]), label, None))
    model = HashedNgrams(1 << 14)
    fit(model, samples[:300], epochs=40, rate=0.2, seed=1)
    with torch.no_grad():
        logits = model(*padded([sample.ids for sample in samples[300:]])[:2]).numpy()
    assert ((logits > 0) == [bool(sample.label) for sample in samples[300:]]).mean() > 0.95


def test_the_graph_gives_the_same_logit(tmp_path: Path):
    model = drawn()
    ids, mask, _ = padded([[5, 6, 30_001, 36_999, 2023]])
    axes = {"ids": {1: "tokens"}, "mask": {1: "tokens"}}
    torch.onnx.export(
        model, (ids, mask), str(tmp_path / "m.onnx"), input_names=["ids", "mask"], dynamic_axes=axes, opset_version=17, dynamo=False
    )
    session = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"])
    for text in ([], [5], list(range(36_000, 36_254))):
        given, inside, _ = padded([text])
        (logit,) = session.run(None, {"ids": given.numpy(), "mask": inside.numpy()})
        with torch.no_grad():
            assert abs(logit[0] - model(given, inside).item()) < 1e-4
