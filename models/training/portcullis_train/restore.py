"""`restore`: fp32 weights from a shipped int8 file, to go on training from where a release stands.

Every quantised matrix is multiplied by its scales; the factors that `export` divides great channels by are multiplied back in.
Positions behind a window's end, which the shipped file lacks, are those of the base. What int8 rounded away stays lost: the
restored net gives the logits of the int8 file up to the rounding of its activations.
"""

import argparse
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import Tensor

from .base import base_folder
from .net import Screener, load_base


def restored(model: Path) -> dict[str, Tensor]:
    """The state of a `Screener` that computes what the ONNX file computes."""
    graph = onnx.load(str(model)).graph
    stored = {one.name: numpy_helper.to_array(one) for one in graph.initializer}

    def matrix(name: str) -> np.ndarray:
        if f"{name}_quantized" not in stored:
            return stored[name]
        scale, zero = stored[f"{name}_scale"], stored[f"{name}_zero_point"]
        return ((stored[f"{name}_quantized"].astype(np.int32) - zero.astype(np.int32)) * scale).astype(np.float32)

    # Each matrix is named by its node ("/layers.0/qkv/MatMul_quant"), its values by a number.
    named = {}
    for node in graph.node:
        if node.op_type in {"MatMulInteger", "MatMul"} and node.input[1].removesuffix("_quantized") != node.input[1]:
            named[node.name] = matrix(node.input[1].removesuffix("_quantized"))
        elif node.op_type == "MatMul" and node.input[1] in stored:
            named[node.name] = stored[node.input[1]]

    words = matrix("words.weight")
    net = Screener(len(words))
    if len(words) != (usual := Screener().words.weight.shape[0]):
        base = Screener()
        load_base(base, base_folder() / "model.safetensors")
        positions = base.positions.weight.data
    else:
        load_base(net, base_folder() / "model.safetensors")
        positions = net.positions.weight.data
    del usual
    state = net.state_dict()
    state["words.weight"] = torch.from_numpy(words)
    state["positions.weight"] = positions.clone()
    kept = torch.from_numpy(stored["positions.weight"].copy())
    state["positions.weight"][: len(kept)] = kept
    for name in ("kind", "norm.weight", "norm.bias", "head.bias", "token_head.bias"):
        state[name] = torch.from_numpy(stored[name].copy())
    state["head.weight"] = torch.from_numpy(matrix("head.weight").T.copy())
    state["token_head.weight"] = torch.from_numpy(named["/token_head/MatMul"].T.copy())
    for number in range(len(net.layers)):
        prefix = f"layers.{number}"
        for part in ("qkv", "out", "up", "down"):
            divided = f"{prefix}.{part}.linear.bias" in stored
            inner = f"{prefix}.{part}.linear" if divided else f"{prefix}.{part}"
            weight = named[f"/{inner.replace('.linear', '/linear').replace(f'{prefix}.', f'{prefix}/')}/MatMul" + ("_quant" if True else "")].T
            if divided:
                weight = weight * stored[f"{prefix}.{part}.share"]
            state[f"{prefix}.{part}.weight"] = torch.from_numpy(weight.copy())
            state[f"{prefix}.{part}.bias"] = torch.from_numpy(stored[f"{inner}.bias"].copy())
        for norm in ("norm1", "norm2"):
            for kind in ("weight", "bias"):
                state[f"{prefix}.{norm}.{kind}"] = torch.from_numpy(stored[f"{prefix}.{norm}.{kind}"].copy())
    return state


def main() -> None:
    """Command line of `restore`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True, help="folder of a shipped model")
    parser.add_argument("--to", type=Path, required=True, help="where to write the weights")
    args = parser.parse_args()
    args.to.parent.mkdir(parents=True, exist_ok=True)
    torch.save(restored(args.model / "model.onnx"), args.to)


if __name__ == "__main__":
    main()
