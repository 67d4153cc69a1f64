"""Asks a Portcullis service whether a text is a prompt injection."""

from .client import AsyncClient, Client
from .errors import (
    Blocked,
    InvalidResponse,
    KeyRefused,
    MonthlyLimitReached,
    RequestRefused,
    ScreeningError,
    ServiceFailed,
    ServiceTimeout,
    TrialEnded,
    Unreachable,
)
from .guard import screened
from .verdict import Channel, Explanation, Finding, Verdict

__all__ = [
    "AsyncClient",
    "Blocked",
    "Channel",
    "Client",
    "Explanation",
    "Finding",
    "InvalidResponse",
    "KeyRefused",
    "MonthlyLimitReached",
    "RequestRefused",
    "ScreeningError",
    "ServiceFailed",
    "ServiceTimeout",
    "TrialEnded",
    "Unreachable",
    "Verdict",
    "screened",
]
