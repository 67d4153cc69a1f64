"""Channels, tasks, the rows that only they tell apart, and what the net makes of them."""

import numpy as np
import pytest
import torch

from portcullis_train.data.channels import DATA, INSTRUCTIONS, TOOL_CALL, USER, channel_of, contrast_rows, may_be_learnt
from portcullis_train.training.net import TASK_BOUND, Screener, padded
from portcullis_train.training.sampling import Archive, Sample, batches, plain, told


def row(text: str, **fields: object) -> dict[str, object]:
    return {"text": text, "label": "benign", "source": "enron emails (AESLC)", "group": "email", "lang": "en"} | fields


@pytest.mark.parametrize(
    ("fields", "channel"),
    [
        ({"channel": "instructions"}, INSTRUCTIONS),
        ({}, DATA),
        ({"source": "BFCL", "group": "tool_call"}, TOOL_CALL),
        ({"source": "own y-subtle", "group": "tool_call"}, DATA),
        ({"source": "clinc150", "group": "chat"}, USER),
        ({"source": "lobe_agents", "group": "document"}, INSTRUCTIONS),
        ({"source": "inserted alone", "group": "chat"}, USER),
        ({"source": "inserted", "group": "indirect", "label": "injection"}, DATA),
    ],
)
def test_every_row_has_a_channel(fields: dict[str, object], channel: int) -> None:
    assert channel_of(row("a text", **fields)) == channel


@pytest.mark.parametrize(
    ("licence", "licence_class", "learnt"),
    [
        ("MIT", "permissive", True),
        ("GPL-3.0", "copyleft", False),
        ("other (sustainable use license version 1.0 copy)", "permissive", False),
        ("none", "unstated", False),
    ],
)
def test_licences_that_are_left_out(licence: str, licence_class: str, learnt: bool) -> None:
    assert may_be_learnt(row("a text", licence=licence, licence_class=licence_class), {"source-available", "unstated"}) is learnt


def test_contrast_rows_differ_in_channel_and_task_alone() -> None:
    hosts = [row(f"Dear Mara, this is mail number {number}. The van comes at nine. Regards, Jo" * 2, channel="data") for number in range(20)]
    orders = [row(f"Please book room {number} for Thursday", source="workbench", group="chat", channel="user") for number in range(5)]
    made = contrast_rows(hosts + orders, 200, 1)
    attacks = {one["text"]: one for one in made if one["source"] == "contrast order"}
    delegated = [one for one in made if one["source"] == "contrast delegated"]
    assert len(attacks) > 50 and delegated
    for one in delegated:
        assert one["label"] == "benign" and attacks[one["text"]]["task"] != one["task"]
    for one in attacks.values():
        start, end = one["span"]
        assert "Please book room" in str(one["text"])[start:end]
        assert one["channel"] == "data" and one["task"]
    assert contrast_rows(hosts + orders, 200, 1) == made


def net() -> Screener:
    torch.manual_seed(4)
    one = Screener(pieces=300, layers=2, width=24).eval()
    for parameter in one.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    one.task_head.weight.data *= 10
    one.task_head.bias.data.zero_()
    return one


@torch.no_grad()
def test_a_task_moves_the_logit_within_its_bound_and_no_token() -> None:
    given = net()
    window, channel = list(range(110, 150)), torch.tensor([DATA])
    plain_logit, plain_tokens = given(*padded([window]), channel)
    moved = []
    for seed in range(40):
        task = np.random.default_rng(seed).integers(103, 300, 1 + seed).tolist()
        logit, tokens = given(*padded([window], [task]), channel)
        assert torch.allclose(tokens[:, : plain_tokens.shape[1]], plain_tokens, atol=1e-4)
        moved.append(float(logit - plain_logit))
    assert max(map(abs, moved)) <= TASK_BOUND + 1e-4
    assert max(map(abs, moved)) > 0.1 and len(set(moved)) > 20


@torch.no_grad()
def test_a_channel_changes_the_logit_and_batches_do_not() -> None:
    given = net()
    windows, tasks = [list(range(110, 130)), list(range(140, 180)), [105]], [[120, 121], [], list(range(130, 160))]
    channels = torch.tensor([USER, DATA, 0])
    together, _ = given(*padded(windows, tasks), channels)
    for number, (window, task) in enumerate(zip(windows, tasks, strict=True)):
        alone, _ = given(*padded([window], [task]), channels[number : number + 1])
        other, _ = given(*padded([window], [task]), torch.tensor([INSTRUCTIONS]))
        assert torch.allclose(alone[0], together[number], atol=1e-4)
        assert abs(float(other - alone)) > 1e-3


def test_what_is_told_of_a_row() -> None:
    archive = Archive(
        ids=np.arange(6), offsets=np.array([0, 3, 6]), spans=np.full((2, 2), -1), labels=np.array([1, 0]), keys=np.array(["tau/injection", "contrast delegated/benign"]), windows=np.full((2, 2), -1),
        groups=np.array(["indirect"] * 2), channels=np.array([DATA, DATA], np.int8), tasks=np.array([7, 8, 9]), task_offsets=np.array([0, 2, 3]),
    )  # fmt: skip
    rng = np.random.default_rng(1)
    seen = {(channel, len(task)) for channel, task in (told(archive, 0, "tau/injection", rng) for _ in range(200))}
    assert seen == {(DATA, 2), (DATA, 0), (0, 0)}
    assert all(told(archive, 1, "contrast delegated/benign", rng)[0] == DATA for _ in range(50))
    sample = Sample(np.arange(5), 1, None, DATA, np.arange(3))
    assert sample.tokens == 11 and plain(sample).tokens == 7 and plain(sample).channel == 0
    assert batches([sample, plain(sample)], 64, rng)
