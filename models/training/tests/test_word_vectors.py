"""Word vectors in four bits."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from portcullis_train.release.word_vectors import BLOCK, four_bits, quantise_word_vectors


def restored(packed: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """The vectors that the runtime reads."""
    values = np.stack([packed & 15, packed >> 4], 2).reshape(len(packed), -1).astype(np.float32) - 8
    return values * np.repeat(steps, BLOCK, 1)


def test_the_greatest_value_of_a_block_is_kept_and_others_are_near() -> None:
    vectors = np.random.default_rng(1).normal(size=(50, 64)).astype(np.float32)
    packed, steps = four_bits(vectors)
    assert packed.shape == (50, 32)
    near = restored(packed, steps)
    most = np.abs(vectors).reshape(50, 2, BLOCK).argmax(2)
    for row in range(50):
        for block in range(2):
            place = block * BLOCK + most[row, block]
            assert abs(near[row, place] - vectors[row, place]) < 1e-6
    assert np.abs(near - vectors).max() <= np.abs(steps).max()


def test_a_vector_of_zeros_stays_one() -> None:
    packed, steps = four_bits(np.zeros((1, BLOCK), np.float32))
    assert not restored(packed, steps).any()


def test_the_runtime_reads_what_was_written(tmp_path: Path) -> None:
    vectors = np.random.default_rng(2).normal(size=(20, 64)).astype(np.float32)
    node = helper.make_node("Gather", ["table", "ids"], ["out"], name="/words/Gather", axis=0)
    ids = helper.make_tensor_value_info("ids", TensorProto.INT64, [1, None])
    out = helper.make_tensor_value_info("out", TensorProto.FLOAT, [1, None, 64])
    graph = helper.make_graph([node], "words", [ids], [out], [numpy_helper.from_array(vectors, "table")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "model.onnx")
    quantise_word_vectors(tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    found = session.run(None, {"ids": np.array([[3, 7, 0]])})[0][0]
    assert np.allclose(found, restored(*four_bits(vectors))[[3, 7, 0]], atol=1e-6)
