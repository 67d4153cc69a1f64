"""One `portcullis scorer` process: rows go in over its stdin, answers come out of its stdout."""

import atexit
import json
import os
import select
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_MAX_ANSWER_BYTES = 256 * 2**20


class ScorerError(RuntimeError):
    """A scorer doesn't start, has other versions than the job, ends, or hangs. Never holds screened text."""


class Scorer:
    """A running scorer.

    `versions` is what its first line says of the package, the rules, the model and the settings. Not to be shared by
    threads. After a `ScorerError` it is closed.
    """

    def __init__(self, command: Sequence[str], start_timeout_s: float, row_timeout_s: float) -> None:
        self._row_timeout_s = row_timeout_s
        try:
            self._process = subprocess.Popen(
                list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, close_fds=True
            )
        except OSError as error:
            raise ScorerError(f"can't start {command[0]!r}: {error.strerror}") from error
        atexit.register(self.close)
        self._next_id = 0
        self._rest = b""
        self._lines: Iterator[bytes] = iter(())
        try:
            first = json.loads(self._next_line(start_timeout_s))
            self.versions: dict[str, Any] = first["ready"]
        except (ValueError, KeyError, TypeError) as error:
            self.close()
            raise ScorerError(f"{command[0]!r} isn't a portcullis scorer, or another version's") from error

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def score(self, rows: Sequence[Mapping[str, str | None]]) -> Iterator[dict[str, Any]]:
        """The scorer's answer to each row, in their order: a Verdict, or an object with `error`.

        A row has a `text`, and where the scorer was told their fields, a `channel` and a `task`.
        """
        first = self._next_id
        self._next_id += len(rows)
        # A thread of its own writes: else the scorer would wait for its reader, and the reader for the scorer.
        writer = threading.Thread(target=self._write, args=(rows, first), daemon=True)
        writer.start()
        for at in range(len(rows)):
            answer = json.loads(self._next_line(self._row_timeout_s))
            if answer["id"] != first + at:
                self.close()
                raise ScorerError("the scorer's answers are out of step")
            yield answer
        writer.join()

    def close(self) -> None:
        """Ends the scorer at once."""
        atexit.unregister(self.close)
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def _write(self, rows: Sequence[Mapping[str, str | None]], first: int) -> None:
        assert self._process.stdin is not None
        piece: list[bytes] = []
        size = 0
        try:
            for at, row in enumerate(rows):
                line = json.dumps({"id": first + at, **row}).encode() + b"\n"
                piece.append(line)
                size += len(line)
                if size >= 65_536 or at == len(rows) - 1:
                    _write_all(self._process.stdin.fileno(), b"".join(piece))
                    piece, size = [], 0
        except (OSError, ValueError):
            # The scorer is gone: the reader sees the end of its answers, and says so.
            return

    def _next_line(self, timeout_s: float) -> bytes:
        line = next(self._lines, None)
        if line is None:
            self._lines = iter(self._read_lines(timeout_s))
            line = next(self._lines)
        return line

    def _read_lines(self, timeout_s: float) -> list[bytes]:
        """The whole lines that are there; waits for at least one."""
        assert self._process.stdout is not None
        fd = self._process.stdout.fileno()
        pieces = [self._rest]
        size = len(self._rest)
        until = time.monotonic() + timeout_s
        while True:
            ready, _, _ = select.select([fd], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                self.close()
                raise ScorerError(f"the scorer gave no answer within {timeout_s:g} s and was ended")
            piece = os.read(fd, 1_048_576)
            if piece == b"":
                status = self._process.wait()
                self.close()
                raise ScorerError(f"the scorer ended with status {status}; its stderr is in the executor's log")
            pieces.append(piece)
            size += len(piece)
            if size > _MAX_ANSWER_BYTES:
                self.close()
                raise ScorerError("the scorer gave an answer without an end")
            if b"\n" in piece:
                *lines, self._rest = b"".join(pieces).split(b"\n")
                return lines


def _write_all(fd: int, content: bytes) -> None:
    view = memoryview(content)
    while len(view) > 0:
        view = view[os.write(fd, view) :]
