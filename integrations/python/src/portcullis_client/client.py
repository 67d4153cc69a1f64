"""The clients: `Client` waits, `AsyncClient` is awaited. Both do the same."""

from __future__ import annotations

import asyncio
import json
import math
import random
import time
from typing import Any

import httpx

from .errors import (
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
from .run import AsyncRun, Run
from .verdict import Channel, Effect, Verdict

_OK = 200
_FAILED = 500
_TASK_UNITS = 4_000


class _Settings:
    def __init__(self, base_url: str, api_key: str, timeout_s: float, backoff_s: float) -> None:
        if not base_url.startswith(("http://", "https://")):
            raise ValueError("base_url must be an http or https URL, such as http://127.0.0.1:8080")
        if not api_key or any(char.isspace() for char in api_key) or not api_key.isascii():
            raise ValueError("api_key must be a key of the service: svc_live_...")
        if not (0 < timeout_s < math.inf):
            raise ValueError("timeout_s must be a positive number of seconds")
        self.url = f"{base_url.rstrip('/')}/analyze"
        self.headers = {"authorization": f"Bearer {api_key}", "content-type": "application/json"}
        self.timeout_s = timeout_s
        self.backoff_s = backoff_s

    def pause_s(self) -> float:
        return self.backoff_s * (1 + random.random())


def _body(text: object, task: str | None, run_id: str | None, tool: str | None, effect: Effect | None) -> bytes:
    followed = {} if run_id is None else {"run_id": run_id, "tool": tool, "effect": effect}
    given = {"task": _end(task) if task else None, **followed}
    asked = {name: value for name, value in given.items() if value is not None}
    # Lone surrogates stay as escapes; NaN has no JSON.
    return json.dumps({"input": text, **asked}, ensure_ascii=True, allow_nan=False).encode()


def _end(task: str) -> str:
    """As much of a task's end as the service takes: it counts UTF-16 code units."""
    units = task.encode("utf-16-le", "surrogatepass")[-2 * _TASK_UNITS :]
    # The second half of a pair that was cut.
    is_cut = len(units) == 2 * _TASK_UNITS and 0xDC <= units[1] <= 0xDF
    return units[2 if is_cut else 0 :].decode("utf-16-le", "surrogatepass")


def _query(channel: Channel | None, explain: bool) -> dict[str, str]:
    query = {"form": "extended"}
    if channel is not None:
        query["channel"] = channel
    if explain:
        query["explain"] = "true"
    return query


def _read(response: httpx.Response) -> Verdict:
    status = response.status_code
    try:
        body = response.json()
    except ValueError:
        body = None
    if status == _OK:
        try:
            return Verdict.from_json(body)
        except ValueError as error:
            raise InvalidResponse(f"the response is not a verdict: {error}", status=status) from None
    fields: dict[str, Any] = body if isinstance(body, dict) else {}
    message = str(fields.get("error", f"the service responded with {status}"))
    if status == 401:
        raise KeyRefused(message, status=status)
    if status == 402:
        raise TrialEnded(message, status=status)
    if status == 429 and fields.get("code") == "MONTHLY_LIMIT_REACHED":
        raise MonthlyLimitReached(message, status=status, retry_after_s=_seconds(response.headers.get("retry-after")))
    if status >= _FAILED:
        raise ServiceFailed(message, status=status)
    raise RequestRefused(message, status=status)


def _seconds(value: str | None) -> float | None:
    try:
        seconds = float(value) if value is not None else math.nan
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise ServiceTimeout("the service did not respond in time")
    return left


class Client:
    """Screens texts at a service. Use it as a context manager, or call `close`; threads may share it.

    `timeout_s` is for a call with its retry: a 500 is tried once more, after `backoff_s` and up to as much again. Each try
    counts against the plan.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        timeout_s: float = 20.0,
        backoff_s: float = 0.25,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._settings = _Settings(base_url, api_key, timeout_s, backoff_s)
        self._http = httpx.Client(transport=transport, headers=self._settings.headers, follow_redirects=False)

    def analyze(
        self,
        text: object,
        *,
        channel: Channel | None = None,
        task: str | None = None,
        explain: bool = False,
        run_id: str | None = None,
        tool: str | None = None,
        effect: Effect | None = None,
    ) -> Verdict:
        """Screens a text; any other JSON value is screened as its JSON text.

        `channel` says whose words the text is, `task` what the user asked the agent for; of a longer task the last 4,000
        characters are sent. `run_id` is an id of your own, see `run`; with it `tool` is the tool that gave the text, or that is
        called, and `effect` what it does (default: by the verb of its name). Raises ScreeningError where there is no verdict, ValueError or TypeError where the input has no
        JSON text.
        """
        deadline = time.monotonic() + self._settings.timeout_s
        body, query = _body(text, task, run_id, tool, effect), _query(channel, explain)
        try:
            response = self._post(body, query, deadline)
            if response.status_code == _FAILED:
                time.sleep(min(self._settings.pause_s(), _left(deadline)))
                response = self._post(body, query, deadline)
        except httpx.TimeoutException as error:
            raise ServiceTimeout("the service did not respond in time") from error
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise Unreachable("the service could not be reached") from error
        return _read(response)

    def run(self, id: str | None = None, *, task: str | None = None) -> Run:
        """Starts a run of an agent, or goes on with the one of this id; `task` is what the user asked for."""
        return Run(self, id, task=task)

    def _post(self, body: bytes, query: dict[str, str], deadline: float) -> httpx.Response:
        return self._http.post(self._settings.url, content=body, params=query, timeout=_left(deadline))

    def close(self) -> None:
        """Closes its connections."""
        self._http.close()

    def __enter__(self) -> Client:
        """Nothing is opened before the first call."""
        return self

    def __exit__(self, *_: object) -> None:
        """Closes its connections."""
        self.close()


class AsyncClient:
    """`Client` for asyncio."""

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        timeout_s: float = 20.0,
        backoff_s: float = 0.25,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._settings = _Settings(base_url, api_key, timeout_s, backoff_s)
        self._http = httpx.AsyncClient(transport=transport, headers=self._settings.headers, follow_redirects=False)

    async def analyze(
        self,
        text: object,
        *,
        channel: Channel | None = None,
        task: str | None = None,
        explain: bool = False,
        run_id: str | None = None,
        tool: str | None = None,
        effect: Effect | None = None,
    ) -> Verdict:
        """As `Client.analyze`; the deadline holds for the whole call."""
        body, query = _body(text, task, run_id, tool, effect), _query(channel, explain)
        try:
            return _read(await asyncio.wait_for(self._ask(body, query), self._settings.timeout_s))
        except (httpx.TimeoutException, asyncio.TimeoutError) as error:
            raise ServiceTimeout("the service did not respond in time") from error
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise Unreachable("the service could not be reached") from error

    def run(self, id: str | None = None, *, task: str | None = None) -> AsyncRun:
        """As `Client.run`."""
        return AsyncRun(self, id, task=task)

    async def _ask(self, body: bytes, query: dict[str, str]) -> httpx.Response:
        response = await self._post(body, query)
        if response.status_code == _FAILED:
            await asyncio.sleep(self._settings.pause_s())
            response = await self._post(body, query)
        return response

    async def _post(self, body: bytes, query: dict[str, str]) -> httpx.Response:
        return await self._http.post(self._settings.url, content=body, params=query, timeout=self._settings.timeout_s)

    async def close(self) -> None:
        """Closes its connections."""
        await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        """Nothing is opened before the first call."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Closes its connections."""
        await self.close()


__all__ = ["AsyncClient", "Client", "ScreeningError"]
