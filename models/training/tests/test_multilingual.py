"""The checkpoint of multilingual BERT: its index, its names, its tokenizer."""

import struct

import numpy as np
import pytest

from portcullis_train.data.multilingual import PREFIX, hugging_face, tensors, tokenizer_of


def varint(value: int) -> bytes:
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def entry(shape: list[int], offset: int, size: int) -> bytes:
    sides = b"".join(b"\x12" + varint(len(one)) + one for one in (b"\x08" + varint(side) for side in shape))
    return b"\x08\x01" + b"\x12" + varint(len(sides)) + sides + (b"\x20" + varint(offset) if offset else b"") + b"\x28" + varint(size) + b"\x35abcd"


def block(pairs: list[tuple[bytes, bytes]], kind: int = 0) -> bytes:
    """Keys that share their beginnings with the one before, one restart, and the trailer."""
    body, before = b"", b""
    for key, value in pairs:
        shared = next((at for at, (one, other) in enumerate(zip(key, before, strict=False)) if one != other), min(len(key), len(before)))
        body += varint(shared) + varint(len(key) - shared) + varint(len(value)) + key[shared:] + value
        before = key
    return body + struct.pack("<II", 0, 1) + bytes([kind]) + b"crcs"


def index_of(pairs: list[tuple[bytes, bytes]], kind: int = 0) -> bytes:
    data = block(pairs, kind)
    top = block([(b"z", varint(0) + varint(len(data) - 5))])
    footer = varint(0) + varint(0) + varint(len(data)) + varint(len(top) - 5)
    return data + top + footer.ljust(48, b"\0")


def test_tensors_are_read_by_name_shape_and_place() -> None:
    first, second = np.arange(6, dtype="<f4").reshape(2, 3), np.array([7, 8], "<f4")
    pairs = [
        (b"", b"\x08\x01"),
        (PREFIX.encode() + b"a/kernel", entry([2, 3], 0, 24)),
        (PREFIX.encode() + b"b/bias", entry([2], 24, 8)),
        (b"other", entry([2], 24, 8)),
    ]
    found = dict(tensors(index_of(pairs), first.tobytes() + second.tobytes()))
    assert list(found) == [PREFIX + "a/kernel", PREFIX + "b/bias"]
    np.testing.assert_array_equal(found[PREFIX + "a/kernel"], first)
    np.testing.assert_array_equal(found[PREFIX + "b/bias"], second)


def test_a_compressed_index_is_refused() -> None:
    with pytest.raises(ValueError, match="compressed"):
        list(tensors(index_of([(PREFIX.encode() + b"a", entry([1], 0, 4))], kind=1), b"\0" * 4))


def test_names_and_directions_are_those_of_hugging_face() -> None:
    kernel = np.arange(6).reshape(2, 3)
    name, value = hugging_face(PREFIX + "encoder/layer_11/attention/self/query/kernel", kernel)
    assert name == "encoder.layer.11.attention.self.query.weight"
    np.testing.assert_array_equal(value, kernel.T)
    assert hugging_face(PREFIX + "embeddings/word_embeddings", kernel)[0] == "embeddings.word_embeddings.weight"
    assert hugging_face(PREFIX + "encoder/layer_0/output/LayerNorm/gamma", kernel)[0] == "encoder.layer.0.output.LayerNorm.weight"
    assert hugging_face(PREFIX + "embeddings/LayerNorm/beta", kernel)[0] == "embeddings.LayerNorm.bias"


def test_the_tokenizer_keeps_case_and_accents() -> None:
    tokenizer = tokenizer_of("[PAD]\n[UNK]\nÉ\n##té\né\n##TÉ\n学")
    assert tokenizer.encode("Été été 学", add_special_tokens=False).tokens == ["É", "##té", "é", "##té", "学"]
