"""A page in Chromium over a pipe of its DevTools protocol, in real time: going back in the history needs that.

Messages are JSON that ends in a zero byte: the browser reads them at its file descriptor 3 and answers at 4.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SECONDS = 60


@dataclass
class Pipe:
    """``send`` and ``receive`` are this end's file descriptors; ``session`` is that of the page."""

    send: int
    receive: int
    session: str = ""
    asked: int = 0
    _unread: bytes = field(default=b"", repr=False)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """What the browser answers; events in between are left unread. RuntimeError for an error."""
        self.asked += 1
        session = {"sessionId": self.session} if self.session else {}
        text = json.dumps({"id": self.asked, "method": method, "params": parameters, **session})
        os.write(self.send, text.encode() + b"\0")
        while (answer := self._next()).get("id") != self.asked:
            pass
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        result: dict[str, Any] = answer["result"]
        return result

    def evaluate(self, script: str) -> Any:
        """What the body of an asynchronous function returns, run in the page."""
        body = f"(async () => {{ {script} }})()"
        answer = self.call("Runtime.evaluate", expression=body, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait_for(self, address: str) -> None:
        """Until the page of that address is loaded, which the one before it does not survive."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            try:
                if self.evaluate('return document.readyState === "complete" && location.href;') == address:
                    return
            except RuntimeError:  # it navigated in the middle of the question
                pass
            time.sleep(0.02)
        raise TimeoutError(address)

    def _next(self) -> dict[str, Any]:
        end = time.monotonic() + SECONDS
        while b"\0" not in self._unread:
            ready, _, _ = select.select([self.receive], [], [], max(0.0, end - time.monotonic()))
            part = os.read(self.receive, 1 << 16) if ready else b""
            if not part:
                raise RuntimeError("the browser ended or says nothing")
            self._unread += part
        text, _, self._unread = self._unread.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        return message


@contextmanager
def opened(program: str, folder: Path, address: str) -> Iterator[Pipe]:
    """A page that is loaded; the browser ends with the block."""
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    options = f'--headless=new --no-sandbox --disable-gpu --no-first-run --user-data-dir="{folder / "piped"}"'
    command = f'exec "{program}" --remote-debugging-pipe {options} 3<&{theirs_in} 4>&{theirs_out}'
    process = subprocess.Popen(
        ["/bin/bash", "-c", command],
        pass_fds=(theirs_in, theirs_out),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs_in)
    os.close(theirs_out)
    pipe = Pipe(ours_out, ours_in)
    try:
        target = pipe.call("Target.createTarget", url=address)["targetId"]
        pipe.session = pipe.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        pipe.wait_for(address)
        yield pipe
        pipe.session = ""
        pipe.call("Browser.close")
        process.wait(SECONDS)
    finally:
        process.kill()
        process.wait()
        os.close(ours_in)
        os.close(ours_out)
