import asyncio
import math
from typing import Any

import pytest
from conftest import ATTACK, BENIGN

import portcullis_client as portcullis
from portcullis_client import AsyncClient, Client, Verdict

GOOD = {
    "verdict": "allow",
    "rule": "none",
    "reason": None,
    "score": 0.1,
    "threshold": 0.5,
    "confidence": 0.1,
    "decided_by": "rules",
    "mode": "rules",
    "rules_version": "1",
    "ml_version": "off",
    "evidence_id": "ev_0",
    "latency_ms": 1,
    "new_field": 7,
}


def ask(
    kind: str, url: str, key: str = "svc_live_x", text: object = "x", *, call: Any = None, **options: Any
) -> Verdict:
    """One call of either client."""
    options = {"backoff_s": 0.01, **options}
    if kind == "sync":
        with Client(url, key, **options) as client:
            return client.analyze(text, **(call or {}))

    async def run() -> Verdict:
        async with AsyncClient(url, key, **options) as client:
            return await client.analyze(text, **(call or {}))

    return asyncio.run(run())


both = pytest.mark.parametrize("kind", ["sync", "async"])


@both
def test_real_service(kind: str, service: tuple[str, str]) -> None:
    blocked = ask(kind, *service, ATTACK, call={"channel": "document", "explain": True})
    assert blocked.is_blocked and blocked.rule == "override.ignore-previous" and blocked.reason
    assert blocked.explanation is not None and blocked.explanation.raw["channel"] == "document"
    allowed = ask(kind, *service, BENIGN, call={"task": "😀" * 4_000})
    assert (allowed.verdict, allowed.explanation, allowed.reason) == ("allow", None, None)
    assert allowed.evidence_id != blocked.evidence_id


@both
@pytest.mark.parametrize(
    "text", ["", "\x00", "\ud800", "😀" * 100, {"name": "mail", "arguments": {"q": 1}}, None, 7, ["x"]]
)
def test_any_json_is_screened(kind: str, text: object, service: tuple[str, str]) -> None:
    assert ask(kind, *service, text).verdict == "allow"


def test_spans_in_characters(service: tuple[str, str]) -> None:
    text = f"😀😀 {ATTACK}"
    verdict = ask("sync", *service, text, call={"explain": True})
    assert verdict.explanation is not None
    found = [text[slice(*finding.in_text(text))] for finding in verdict.explanation.findings]
    assert any(part.lower().startswith("ignore all previous") for part in found)


@both
def test_bad_key(kind: str, service: tuple[str, str]) -> None:
    with pytest.raises(portcullis.KeyRefused) as caught:
        ask(kind, service[0], "svc_live_wrong")
    assert caught.value.status == 401


@both
@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (400, {"error": "no"}, portcullis.RequestRefused),
        (402, {"error": "no", "code": "TRIAL_ENDED"}, portcullis.TrialEnded),
        (413, b"<html>", portcullis.RequestRefused),
        (429, {"error": "slow down"}, portcullis.RequestRefused),
        (503, {"error": "busy"}, portcullis.ServiceFailed),
        (500, {"error": "failed"}, portcullis.ServiceFailed),
        (302, b"", portcullis.RequestRefused),
        (200, b"not json", portcullis.InvalidResponse),
        (200, [], portcullis.InvalidResponse),
        (200, {"verdict": "allow"}, portcullis.InvalidResponse),
        (200, {**GOOD, "score": 0.9}, portcullis.InvalidResponse),
        (200, {**GOOD, "verdict": "maybe"}, portcullis.InvalidResponse),
        (200, {**GOOD, "score": "x"}, portcullis.InvalidResponse),
    ],
)
def test_failures(kind: str, status: int, body: object, error: type[Exception], failing: Any) -> None:
    url, sent = failing((status, {"location": "http://127.0.0.1:9/"}, body))
    with pytest.raises(error) as caught:
        ask(kind, url, text="a secret text")
    assert "secret" not in str(caught.value)
    # A 500 is tried once more, nothing else is.
    assert len(sent) == (2 if status == 500 else 1)


@both
@pytest.mark.parametrize(
    ("given", "seconds"), [("120", 120.0), ("soon", None), ("nan", None), ("-1", None), (None, None)]
)
def test_monthly_limit(kind: str, given: str | None, seconds: float | None, failing: Any) -> None:
    headers = {} if given is None else {"retry-after": given}
    url, _ = failing((429, headers, {"error": "used up", "code": "MONTHLY_LIMIT_REACHED"}))
    with pytest.raises(portcullis.MonthlyLimitReached) as caught:
        ask(kind, url)
    assert caught.value.retry_after_s == seconds


@both
def test_a_500_is_retried_and_later_fields_are_kept(kind: str, failing: Any) -> None:
    url, sent = failing((500, {}, {"error": "x"}), (200, {}, GOOD))
    verdict = ask(kind, f"{url}/", text="x", call={"channel": "tool_result"})
    assert verdict.raw["new_field"] == 7
    path, headers, body = sent[1]
    assert path == "/analyze?form=extended&channel=tool_result"
    assert {name.lower(): value for name, value in headers.items()}["authorization"] == "Bearer svc_live_x"
    assert body == {"input": "x"}


@both
@pytest.mark.parametrize(
    ("task", "sent_task"),
    [
        ("Sum up.", "Sum up."),
        ("", None),
        (None, None),
        ("x" * 5_000, "x" * 4_000),
        ("😀" * 3_000, "😀" * 2_000),
        ("😀" + "x" * 3_999, "x" * 3_999),
    ],
)
def test_a_task_goes_beside_the_text_its_end_where_it_is_long(
    kind: str, task: str | None, sent_task: str | None, failing: Any
) -> None:
    url, sent = failing((200, {}, GOOD))
    ask(kind, url, text="x", call={"channel": "instructions", "task": task})
    path, _, body = sent[0]
    assert path == "/analyze?form=extended&channel=instructions"
    assert body == {"input": "x", **({} if sent_task is None else {"task": sent_task})}


@both
def test_timeout(kind: str, failing: Any) -> None:
    url, _ = failing((200, {}, GOOD), delay_s=2)
    with pytest.raises(portcullis.ServiceTimeout):
        ask(kind, url, timeout_s=0.2)


@both
def test_the_deadline_holds_for_the_retry_too(kind: str, failing: Any) -> None:
    url, sent = failing((500, {}, {"error": "x"}))
    with pytest.raises(portcullis.ServiceTimeout):
        ask(kind, url, timeout_s=0.5, backoff_s=5)
    assert len(sent) == 1


@both
def test_unreachable(kind: str) -> None:
    with pytest.raises(portcullis.Unreachable):
        ask(kind, "http://127.0.0.1:9")


@pytest.mark.parametrize(
    ("url", "key", "options"),
    [
        ("127.0.0.1", "k", {}),
        ("ftp://x", "k", {}),
        ("http://x", "", {}),
        ("http://x", "a b", {}),
        ("http://x", "k\n", {}),
        ("http://x", "k", {"timeout_s": math.inf}),
    ],
)
def test_settings(url: str, key: str, options: dict[str, float]) -> None:
    for kind in (Client, AsyncClient):
        with pytest.raises(ValueError, match="must be"):
            kind(url, key, **options)


def test_what_has_no_json_is_a_mistake() -> None:
    with Client("http://127.0.0.1:9", "k") as client:
        for value in (math.nan, object(), {1, 2}):
            with pytest.raises((ValueError, TypeError)):
                client.analyze(value)
