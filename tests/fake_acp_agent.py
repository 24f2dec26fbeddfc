"""An ACP agent for tests: answers what it is asked, echoes what it does not know, and shows how it ended."""

import json
import os
import signal
import sys

SESSION = "fake-" + (sys.argv[1] if len(sys.argv) > 1 else "1")


def send(**message: object) -> None:
    sys.stdout.buffer.write(json.dumps({"jsonrpc": "2.0"} | message, ensure_ascii=False).encode() + b"\n")
    sys.stdout.buffer.flush()


def update(kind: str, **more: object) -> None:
    send(method="session/update", params={"sessionId": SESSION, "update": {"sessionUpdate": kind} | more})


def prompted(id_: object) -> None:
    update("plan", entries=[{"content": "读代码", "status": "in_progress"}, {"content": "b", "status": "_later"}])
    update("tool_call", toolCallId="c", title="bash", status="in_progress", rawInput={"command": "ls"})
    update("tool_call_update", toolCallId="c", status="completed", content=[])
    send(id=id_, result={"stopReason": "end_turn"})


def main() -> None:
    signal.signal(signal.SIGUSR1, lambda *_: os._exit(9))
    sys.stderr.buffer.write(b"ready\xff\n")
    sys.stderr.flush()
    for line in sys.stdin.buffer:
        try:
            message = json.loads(line)
        except ValueError:
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
            continue
        method, id_ = message.get("method"), message.get("id")
        if method == "session/new":
            send(id=id_, result={"sessionId": SESSION})
        elif method == "session/prompt":
            prompted(id_)
        elif method == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        else:
            send(id=id_, result={"pid": os.getpid()})
    sys.stdout.buffer.write(b"no newline at the end")
    sys.stdout.buffer.flush()
    sys.exit(7)


main()
