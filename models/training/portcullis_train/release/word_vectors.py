"""Word vectors in four bits: in a model of many word pieces they are most of the file, and a text looks up only a few of them.

Blocks of 32 values share a scale, and are read by ONNX Runtime's `GatherBlockQuantized` (domain com.microsoft). What they lose is less than
what int8 costs the layers (`record/cascade.md`).
"""

from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

BLOCK, STEPS = 32, 8


def four_bits(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two values a byte, the even one in the low half, each 8 more than its number of steps; and the length of a step in each block."""
    blocks = vectors.reshape(len(vectors), -1, BLOCK)
    low, high = blocks.min(2), blocks.max(2)
    # The value that is furthest from zero is met exactly: there are eight steps below zero and seven above.
    step = np.where(-low > high, low, high) / -STEPS
    step[step == 0] = 1
    shifted = (np.clip(np.rint(blocks / step[:, :, None]), -STEPS, STEPS - 1) + STEPS).astype(np.uint8).reshape(len(vectors), -1)
    return shifted[:, 0::2] | shifted[:, 1::2] << 4, step.astype(np.float32)


def quantise_word_vectors(model: Path) -> None:
    """Rewrite an fp32 graph in place."""
    graph = onnx.load(model)
    place, node = next((place, node) for place, node in enumerate(graph.graph.node) if node.name == "/words/Gather")
    table = next(one for one in graph.graph.initializer if one.name == node.input[0])
    packed, steps = four_bits(numpy_helper.to_array(table))
    graph.graph.initializer.remove(table)
    graph.graph.initializer.extend([numpy_helper.from_array(packed, "words.packed"), numpy_helper.from_array(steps, "words.steps")])
    lookup = helper.make_node(
        "GatherBlockQuantized",
        ["words.packed", node.input[1], "words.steps"],
        list(node.output),
        name=node.name,
        domain="com.microsoft",
        bits=4,
        block_size=BLOCK,
        gather_axis=0,
        quantize_axis=1,
    )
    graph.graph.node.remove(node)
    graph.graph.node.insert(place, lookup)
    graph.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    onnx.save(graph, model)
