import asyncio
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import ATTACK, BENIGN

from portcullis_client import AsyncClient, Blocked, Client, Unreachable, screened


def test_tool(service: tuple[str, str]) -> None:
    ran: list[str] = []
    with Client(*service) as client:

        @screened(client)
        def read(text: str) -> Any:
            """Reads."""
            ran.append(text)
            if text == "fail":
                raise KeyError(ATTACK)
            if text == "fail kindly":
                raise KeyError("no such mail")
            return {"benign": BENIGN, "attack": ATTACK, "object": {"body": ATTACK}, "odd": {object(), 1}}[text]

        assert read.__name__ == "read" and read.__doc__ == "Reads."
        assert read("benign") == BENIGN
        assert read("attack").startswith("[removed by portcullis: ")
        for text in ("object", "fail"):
            with pytest.raises(Blocked) as caught:
                read(text)
            assert "Ignore all" not in str(caught.value)
        with pytest.raises(KeyError, match="no such mail"):
            read("fail kindly")
        assert 1 in read("odd")
        before = len(ran)
        with pytest.raises(Blocked):
            read(text=ATTACK)
        assert len(ran) == before

        strict = screened(client, on_block="raise")(lambda: ATTACK)
        with pytest.raises(Blocked):
            strict()


def test_async_tool(service: tuple[str, str]) -> None:
    async def run() -> None:
        async with AsyncClient(*service) as client:

            @screened(client)
            async def read(text: str) -> str:
                if text == "fail":
                    raise ValueError(ATTACK)
                return ATTACK if text == "attack" else BENIGN

            assert await read("benign") == BENIGN
            assert (await read("attack")).startswith("[removed by portcullis: ")
            with pytest.raises(Blocked):
                await read("fail")
            with pytest.raises(Blocked):
                await read(ATTACK)

    asyncio.run(run())


def test_it_fails_closed() -> None:
    with Client("http://127.0.0.1:9", "k") as client:
        with pytest.raises(Unreachable):
            screened(client)(lambda: BENIGN)()
        assert screened(client, on_error="allow")(lambda: BENIGN)() == BENIGN


def test_what_is_read_later_is_refused(service: tuple[str, str]) -> None:
    with Client(*service) as client:

        def words() -> Iterator[str]:
            yield ATTACK

        with pytest.raises(TypeError, match="words is a generator"):
            screened(client)(words)
        with pytest.raises(TypeError, match="returned an iterator"):
            screened(client)(lambda: iter([ATTACK]))()


def test_the_wrong_client_is_a_mistake() -> None:
    async def tool() -> None: ...

    with Client("http://127.0.0.1:9", "k") as client, pytest.raises(TypeError, match="AsyncClient"):
        screened(client)(tool)


def test_langchain_example(service: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("langchain_core")
    monkeypatch.setenv("PORTCULLIS_SERVICE", service[0])
    monkeypatch.setenv("PORTCULLIS_API_KEY", service[1])
    names = runpy.run_path(str(Path(__file__).parents[1] / "examples/langchain_tool.py"))
    assert names["read_mail"].invoke({"number": 1}).startswith("The meeting")
    assert "removed by portcullis" in names["read_mail"].invoke({"number": 2})
