"""The command line that `calibrate`, `evaluate` and `verify` share."""

import argparse
from pathlib import Path


def model_parser(description: str | None, *, data_help: str | None = None) -> argparse.ArgumentParser:
    """Arguments of a step that scores dev texts with a model. `--data` is required unless `data_help` says what it adds."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--data", type=Path, required=data_help is None, help=data_help)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--limit", type=int, help="at most so many dev texts a source and label")
    return parser
