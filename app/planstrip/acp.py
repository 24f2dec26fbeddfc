"""`planstrip acp -- COMMAND…`: stands between an editor and its agent, and hands every byte on as it came.

The agent keeps our standard error. What passes is recorded by a thread of its own, which nothing here waits for.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Final

from planstrip.intake.acp import Recorder
from planstrip.transcripts.acp import CLIENT, SERVER

CHUNK_BYTES: Final = 64 * 1024
FORWARDED: Final = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
LAST_WORDS_S: Final = 2.0  # how long an agent's own children may write on after it
SWITCH_S: Final = 0.0005  # how long the recorder may keep a byte that has come from being handed on
NOT_FOUND: Final = 127
NOT_EXECUTABLE: Final = 126


def run_acp(command: Sequence[str], recorder: Recorder) -> int:
    """The agent's own exit code; it does not return where a signal ended the agent."""
    sys.setswitchinterval(SWITCH_S)
    try:
        # In a group of its own a terminal's ^C reaches it once, through us, as a signal that was sent to us does.
        agent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, process_group=0)  # noqa: S603
    except OSError as error:
        sys.stderr.write(f"planstrip: cannot start {command[0]!r}: {error.strerror}\n")
        return NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE
    _forward_signals(agent)
    assert agent.stdin is not None
    assert agent.stdout is not None
    recorder.start()
    there = Pump(0, agent.stdin.fileno(), recorder.tee(CLIENT), (agent.stdin.close, lambda: _let_go(0)))
    back = Pump(agent.stdout.fileno(), 1, recorder.tee(SERVER), (lambda: _let_go(1), agent.stdout.close))
    threading.Thread(target=there.run, name="planstrip-to-agent", daemon=True).start()
    answers = threading.Thread(target=back.run, name="planstrip-to-client", daemon=True)
    answers.start()
    code = agent.wait()
    answers.join(LAST_WORDS_S)
    recorder.finish()
    _leave(code)
    return code


@dataclass(frozen=True, slots=True)
class Pump:
    """Hands on until the source ends, or nobody reads the target any more; then both `ends` are let go of."""

    source: int
    target: int
    tee: Callable[[bytes], None]
    ends: Sequence[Callable[[], None]]

    def run(self) -> None:
        with contextlib.suppress(OSError):
            while chunk := os.read(self.source, CHUNK_BYTES):
                self.tee(chunk)  # first, or an answer may be heard before what it answers
                rest = memoryview(chunk)
                while rest:
                    rest = rest[os.write(self.target, rest) :]
        for let_go in self.ends:
            with contextlib.suppress(OSError):
                let_go()


def _let_go(descriptor: int) -> None:
    """Close our end of the editor's pipe, and keep its number: what opens a file later must not get it."""
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, descriptor)
    os.close(nothing)


def _forward_signals(agent: "subprocess.Popen[bytes]") -> None:
    def forward(number: int, _frame: FrameType | None) -> None:
        agent.send_signal(number)

    for name in FORWARDED:
        if (number := getattr(signal, name, None)) is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, forward)


def _leave(code: int) -> None:
    """End as the agent did. Not by way of the interpreter: a thread may still wait for the editor's next byte."""
    if code < 0:
        with contextlib.suppress(OSError, ValueError):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
        time.sleep(1)  # until it arrives
    os._exit(code if code >= 0 else 128 - code)
