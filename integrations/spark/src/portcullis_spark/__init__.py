"""Screens a column of a Spark DataFrame for prompt injection with Portcullis."""

from .scorer import ScorerError
from .screen import screen, versions_of
from .worker import Versions

__all__ = ["ScorerError", "Versions", "screen", "versions_of"]
