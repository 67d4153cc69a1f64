"""A decorator for tools."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any, Literal, TypeVar, cast

from .client import AsyncClient, Client
from .errors import Blocked, FlowDenied, ScreeningError
from .run import AsyncRun, Run
from .verdict import Effect, Verdict

F = TypeVar("F", bound=Callable[..., Any])


def screened(
    client: Client | AsyncClient | Run | AsyncRun,
    *,
    effect: Effect | None = None,
    on_block: Literal["note", "raise"] = "note",
    on_error: Literal["block", "allow"] = "block",
) -> Callable[[F], F]:
    """Screens a tool's arguments before it runs, then its result, or the message of what it raises.

    Blocked arguments raise `Blocked`; so does a blocked result that is no string, and a blocked failure. A blocked string
    becomes a note, unless `on_block` is "raise". A text that could not be screened is blocked: the ScreeningError is raised;
    with `on_error="allow"` it passes. A coroutine function needs an `AsyncClient`, any other a `Client`.

    With a run in the client's place the run remembers the results, and a call that its flow would deny or ask about raises
    `FlowDenied`; `effect` says what the tool does (default: by the verb of its name).

    Raises TypeError for a generator, and where a tool returns one: its texts would be read after the screening.
    """

    def decorate(tool: F) -> F:
        name = getattr(tool, "__name__", "tool")
        if inspect.isgeneratorfunction(tool) or inspect.isasyncgenfunction(tool):
            raise TypeError(f"{name} is a generator: return its texts as one value, so that they can be screened")
        is_async = inspect.iscoroutinefunction(tool)
        if is_async != isinstance(client, AsyncClient | AsyncRun):
            raise TypeError("a coroutine function needs an AsyncClient, any other function a Client, or a run of one")
        about: dict[str, Any] = {"tool": name, "effect": effect} if isinstance(client, Run | AsyncRun) else {}

        if is_async:
            awaited = cast(AsyncClient | AsyncRun, client)

            async def ask(value: object, channel: Any) -> Verdict | None:
                try:
                    return await awaited.analyze(_jsonable(value), channel=channel, **about)
                except ScreeningError:
                    if on_error == "allow":
                        return None
                    raise

            @functools.wraps(tool)
            async def run_async(*args: Any, **kwargs: Any) -> Any:
                _require(await ask(_call(name, args, kwargs), "tool_call"))
                try:
                    result = await tool(*args, **kwargs)
                except Exception as error:
                    _require_failure(await ask(f"{type(error).__name__}: {error}", "tool_result"))
                    raise
                return _result(result, await ask(_whole(result, name), "tool_result"), on_block)

            return cast(F, run_async)

        waited = cast(Client | Run, client)

        def ask_now(value: object, channel: Any) -> Verdict | None:
            try:
                return waited.analyze(_jsonable(value), channel=channel, **about)
            except ScreeningError:
                if on_error == "allow":
                    return None
                raise

        @functools.wraps(tool)
        def run(*args: Any, **kwargs: Any) -> Any:
            _require(ask_now(_call(name, args, kwargs), "tool_call"))
            try:
                result = tool(*args, **kwargs)
            except Exception as error:
                _require_failure(ask_now(f"{type(error).__name__}: {error}", "tool_result"))
                raise
            return _result(result, ask_now(_whole(result, name), "tool_result"), on_block)

        return cast(F, run)

    return decorate


def _call(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, object]:
    return {"name": name, "arguments": {**{str(at): value for at, value in enumerate(args)}, **kwargs}}


def _require(verdict: Verdict | None) -> None:
    if verdict is None:
        return
    if verdict.is_blocked:
        raise Blocked(verdict)
    if verdict.flow is not None and verdict.flow.action in ("ask", "deny"):
        raise FlowDenied(verdict)


def _require_failure(verdict: Verdict | None) -> None:
    # Without its cause: agents print it to their model.
    if verdict is not None and verdict.is_blocked:
        raise Blocked(verdict) from None


def _result(result: Any, verdict: Verdict | None, on_block: str) -> Any:
    if verdict is None or not verdict.is_blocked:
        return result
    if on_block == "note" and isinstance(result, str):
        return f"[removed by portcullis: prompt injection. rule={verdict.rule} evidence={verdict.evidence_id}]"
    raise Blocked(verdict)


def _whole(result: object, name: str) -> object:
    """The result, unless it is read later than it is screened."""
    if hasattr(result, "__next__") or hasattr(result, "__anext__"):
        raise TypeError(f"{name} returned an iterator: return its texts as one value, so that they can be screened")
    return result


def _jsonable(value: object) -> object:
    """The value as JSON sees it; what has no JSON is screened as its `str`, which is what a model is shown of it."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {str(name): _jsonable(item) for name, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_jsonable(item) for item in value]
    return str(value)
