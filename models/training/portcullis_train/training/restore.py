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

from ..data.base import base_folder
from .net import ADDED, Screener, load_base
from .ngrams import HashedNgrams


def restored_ngrams(model: Path, name: str = "ngrams") -> HashedNgrams | None:
    """The linear model of n-grams that an ONNX file holds under `name`; `None` where it has none."""
    stored = {one.name: numpy_helper.to_array(one) for one in onnx.load(str(model)).graph.initializer}
    if f"{name}.bias" not in stored:
        return None
    table = stored[f"{name}.table.weight"]
    apart = torch.tensor(name == "ngrams" and any(one.startswith("channels.weight") for one in stored))
    ngrams = HashedNgrams(len(table), bool(apart))
    ngrams.load_state_dict({"table.weight": torch.tensor(table).float(), "bias": torch.tensor(stored[f"{name}.bias"]), "apart": apart})
    return ngrams


def restored(model: Path) -> dict[str, Tensor]:
    """The state of a `Screener` that, with `ngrams` and `language`, computes what the ONNX file computes."""
    graph = onnx.load(str(model)).graph
    stored = {one.name: numpy_helper.to_array(one) for one in graph.initializer}

    def matrix(name: str) -> np.ndarray:
        if name in stored:
            return stored[name]
        values, zero = (stored[f"{name}_{part}"].astype(np.int32) for part in ("quantized", "zero_point"))
        return ((values - zero) * stored[f"{name}_scale"]).astype(np.float32)

    # A matrix has a number for a name; the node that multiplies by it says which one it is: "/layers.0/up/linear/MatMul_quant".
    named = {
        node.name.removesuffix("_quant"): matrix(node.input[1].removesuffix("_quantized"))
        for node in graph.node
        if node.op_type in {"MatMul", "MatMulInteger"} and (node.input[1] in stored)
    }
    base = Screener()
    load_base(base, base_folder() / "model.safetensors")
    positions = base.positions.weight.data.clone()
    positions[: len(stored["positions.weight"])] = torch.tensor(stored["positions.weight"])
    state: dict[str, Tensor] = {
        "words.weight": torch.tensor(matrix("words.weight")),
        "positions.weight": positions,
        "head.weight": torch.tensor(matrix("head.weight").T),
        "token_head.weight": torch.tensor(named["/token_head/MatMul"].T),
        **({"task_head.weight": torch.tensor(matrix("task_head.weight").T)} if "channels.weight" in stored else {}),
    }
    for name in base.state_dict():
        if name in state:
            continue
        if name in ADDED and "channels.weight" not in stored:
            # A model from before channels and tasks: the added parts change nothing.
            state[name] = base.state_dict()[name]
            continue
        part, _, kind = name.rpartition(".")
        if name in stored:
            state[name] = torch.tensor(stored[name])
        elif kind == "bias":
            state[name] = torch.tensor(stored[f"{part}.linear.bias"])
        else:
            layer, _, linear = part.rpartition(".")
            divided = f"{part}.share" in stored
            weight = named[f"/{layer}/{linear}/{'linear/' if divided else ''}MatMul"].T
            state[name] = torch.tensor(weight * stored[f"{part}.share"] if divided else weight)
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
