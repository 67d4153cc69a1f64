"""Asks a Portcullis service whether a text is a prompt injection."""

from .client import AsyncClient, Client
from .errors import (
    Blocked,
    FlowDenied,
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
from .run import AsyncRun, Run
from .verdict import Channel, Effect, Explanation, Finding, Flow, FlowFinding, Verdict

__all__ = [
    "AsyncClient",
    "AsyncRun",
    "Blocked",
    "Channel",
    "Client",
    "Effect",
    "Explanation",
    "Finding",
    "Flow",
    "FlowDenied",
    "FlowFinding",
    "InvalidResponse",
    "KeyRefused",
    "MonthlyLimitReached",
    "RequestRefused",
    "Run",
    "ScreeningError",
    "ServiceFailed",
    "ServiceTimeout",
    "TrialEnded",
    "Unreachable",
    "Verdict",
    "screened",
]
