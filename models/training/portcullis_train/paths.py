"""Where the training folder lies."""

from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
