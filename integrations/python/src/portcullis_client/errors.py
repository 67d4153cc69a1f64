"""What ends a call without a verdict. A text that wasn't screened isn't safe: what happens then is the caller's decision."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .verdict import Verdict


class ScreeningError(Exception):
    """A call without a verdict. `status` is the HTTP status; None where no response came."""

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class KeyRefused(ScreeningError):
    """The key is missing or not valid; another try ends the same."""


class RequestRefused(ScreeningError):
    """The service doesn't take this request; another try ends the same."""


class TrialEnded(ScreeningError):
    """The trial has ended; an upgrade is needed."""


class MonthlyLimitReached(ScreeningError):
    """The calls of the month are used up; `retry_after_s` is the time until the month turns."""

    def __init__(self, message: str, *, status: int | None = None, retry_after_s: float | None = None) -> None:
        super().__init__(message, status=status)
        self.retry_after_s = retry_after_s


class ServiceFailed(ScreeningError):
    """The service failed, twice, or is overloaded."""


class InvalidResponse(ScreeningError):
    """The response is not a verdict."""


class Unreachable(ScreeningError):
    """No response came."""


class ServiceTimeout(ScreeningError):
    """The deadline passed."""


class Blocked(Exception):
    """A text that the service blocks. The message never quotes it."""

    def __init__(self, verdict: Verdict) -> None:
        reason, rule = _why(verdict)
        super().__init__(f"{reason} rule={rule} evidence={verdict.evidence_id}")
        self.verdict = verdict


class FlowDenied(Blocked):
    """A call that carries a value from data, which the user never gave: `verdict.flow` says which, never the value."""


def _why(verdict: Verdict) -> tuple[str | None, str]:
    if verdict.is_blocked or verdict.flow is None:
        return verdict.reason, verdict.rule
    return verdict.flow.reason, verdict.flow.rule
