"""The service's verdict, as it comes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Channel = Literal["user", "document", "tool_result", "tool_call", "instructions", "unknown"]
"""Whose words a text is."""

Effect = Literal["read", "write", "send", "execute"]
"""What a tool does beyond its response."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A match of a rule; `start` and `end` are half-open, in UTF-16 code units of the text."""

    rule: str
    start: int
    end: int

    def in_text(self, text: str) -> tuple[int, int]:
        """The span in Python's characters: an emoji is two code units and one character."""
        units = text.encode("utf-16-le", "surrogatepass")
        before = units[: 2 * self.start].decode("utf-16-le", "surrogatepass")
        inside = units[2 * self.start : 2 * self.end].decode("utf-16-le", "surrogatepass")
        return len(before), len(before) + len(inside)


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a verdict came about; `raw` is the whole of it."""

    findings: tuple[Finding, ...]
    raw: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FlowFinding:
    """A value in a call's arguments that stood first in what a tool or a document said, and that the user never gave.

    `argument` is its JSON path, `kind` such as "email". `tool`, `evidence_id`, `start`, `end` (half-open, in UTF-16 code
    units) and `probability` (None where it isn't suspicious) say where it stood.
    """

    argument: str
    kind: str
    level: Literal["suspicious", "foreign"]
    tool: str | None
    evidence_id: str | None
    start: int
    end: int
    probability: float | None


@dataclass(frozen=True, slots=True)
class Flow:
    """What a call's arguments carry from data, and what the default policy of runs does about it. Quotes no value."""

    action: Literal["allow", "report", "ask", "deny"]
    rule: Literal["none", "flow.suspicious", "flow.foreign"]
    reason: str | None
    effect: Effect
    findings: tuple[FlowFinding, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the service says of one text. `raw` holds every field, also those that later versions add.

    `run_id` and, for a tool's call, `flow` are there where the text belongs to a run.
    """

    verdict: Literal["allow", "block"]
    rule: str
    reason: str | None
    score: float
    threshold: float
    confidence: float
    decided_by: str
    mode: str
    rules_version: str
    ml_version: str
    evidence_id: str
    latency_ms: int
    explanation: Explanation | None
    raw: Mapping[str, Any]
    run_id: str | None = None
    flow: Flow | None = None

    @property
    def is_blocked(self) -> bool:
        """Whether the text must not go on."""
        return self.verdict == "block"

    @classmethod
    def from_json(cls, body: object) -> Verdict:
        """Reads the extended form. Raises ValueError where it is none, or contradicts itself."""
        if not isinstance(body, dict):
            raise ValueError("not an object")
        try:
            given = {name: body[name] for name in cls.__slots__ if name not in _APART}
            score, threshold = float(given["score"]), float(given["threshold"])
            explained = body.get("explanation")
            explanation = None if explained is None else _explanation(explained)
            followed = body.get("flow")
            flow = None if followed is None else _flow(followed)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError("a field is missing") from error
        if given["verdict"] != ("block" if score >= threshold else "allow"):
            raise ValueError("the verdict contradicts its score")
        return cls(**given, explanation=explanation, raw=body, run_id=body.get("run_id"), flow=flow)


_APART = ("explanation", "raw", "run_id", "flow")


def _explanation(body: Mapping[str, Any]) -> Explanation:
    findings = tuple(
        Finding(rule=one["rule"], start=one["span"]["start"], end=one["span"]["end"]) for one in body["findings"]
    )
    return Explanation(findings=findings, raw=body)


def _flow(body: Mapping[str, Any]) -> Flow:
    if body["action"] not in ("allow", "report", "ask", "deny"):
        raise ValueError("an unknown action")
    return Flow(
        action=body["action"],
        rule=body["rule"],
        reason=body["reason"],
        effect=body["effect"],
        findings=tuple(_flow_finding(one) for one in body["findings"]),
    )


def _flow_finding(body: Mapping[str, Any]) -> FlowFinding:
    source = body["source"]
    return FlowFinding(
        argument=body["argument"],
        kind=body["kind"],
        level=body["level"],
        tool=source["tool"],
        evidence_id=source["evidence_id"],
        start=source["span"]["start"],
        end=source["span"]["end"],
        probability=source["probability"],
    )
