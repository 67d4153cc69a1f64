"""A run of an agent: the service remembers whose words are whose, and follows values from data into calls."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from .verdict import Channel, Effect, Verdict

if TYPE_CHECKING:
    from .client import AsyncClient, Client


class Run:
    """One run, from the user's words to the arguments of its calls. Made by `Client.run`.

    The service keeps it for a day after its last text, and has no call that ends it.
    """

    def __init__(self, client: Client, id: str | None = None, *, task: str | None = None) -> None:
        self._client = client
        self.id = id or f"run_{uuid.uuid4().hex}"
        self.task = task

    def analyze(
        self,
        text: object,
        *,
        channel: Channel | None = None,
        tool: str | None = None,
        effect: Effect | None = None,
        task: str | None = None,
        explain: bool = False,
    ) -> Verdict:
        """Screens a text as a part of the run, as `Client.analyze`. The verdict on a tool's call has `flow`."""
        return self._client.analyze(
            text, channel=channel, task=task or self.task, explain=explain, run_id=self.id, tool=tool, effect=effect
        )

    def __enter__(self) -> Run:
        """Nothing is opened."""
        return self

    def __exit__(self, *_: object) -> None:
        """The client stays open."""


class AsyncRun:
    """`Run` for asyncio."""

    def __init__(self, client: AsyncClient, id: str | None = None, *, task: str | None = None) -> None:
        self._client = client
        self.id = id or f"run_{uuid.uuid4().hex}"
        self.task = task

    async def analyze(
        self,
        text: object,
        *,
        channel: Channel | None = None,
        tool: str | None = None,
        effect: Effect | None = None,
        task: str | None = None,
        explain: bool = False,
    ) -> Verdict:
        """As `Run.analyze`."""
        return await self._client.analyze(
            text, channel=channel, task=task or self.task, explain=explain, run_id=self.id, tool=tool, effect=effect
        )

    async def __aenter__(self) -> AsyncRun:
        """Nothing is opened."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """The client stays open."""
