"""The trainer's process: `python -m models.service.worker`. Reads messages on stdin, writes them to stdout.

It listens on nothing, trains at low priority, and ends with its parent.
"""

import logging
import os
import queue
import shutil
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from models.log import begin, event, told
from models.service import wire
from models.service.runs import FOLDER, is_temporary
from models.service.sharing import Questions
from models.service.wire import Message
from models.spec.budget import calibrated
from models.spec.limits import LIMITS

if TYPE_CHECKING:
    from models.service.engine import Engine

NICENESS = 5
OPEN_QUESTIONS = 256


def main() -> None:
    """Serves the parent until the pipe ends."""
    out = _take_stdout()
    begin()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent; the end of stdin follows
    if hasattr(os, "nice"):
        os.nice(NICENESS)  # before torch is loaded: the first page, drawn from a recording, must not wait for it
    inbox: queue.SimpleQueue[Message] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(sys.stdin.buffer, inbox), daemon=True).start()

    import torch

    from models.service.calibration import measured
    from models.service.engine import Engine

    torch.set_num_threads(LIMITS.cores)
    _bound_memory(LIMITS.address_space)
    engine = Engine(lambda message: wire.send(out, message), Path(os.environ[FOLDER]))
    machine = measured()
    calibrated(machine)
    engine.hello(os.getpid(), machine)  # from here on a silent worker counts as hung
    serve(engine, inbox)


def serve(engine: "Engine", inbox: "queue.SimpleQueue[Message]") -> None:
    """Works in slices, with one question in between."""
    questions = Questions(OPEN_QUESTIONS)
    busy = False
    while True:
        while not inbox.empty() or not (busy or questions):
            message = inbox.get()
            if message["kind"] == "requests":
                engine.aim(message)
                busy = True
            elif message["kind"] == "ping":
                engine.emit({"kind": "pong"})
            elif message["kind"] == "cancel":
                questions.cancel(message["key"])
                engine.cancel(message["key"])
            elif (dropped := questions.put(message)) is not None:
                engine.emit({"kind": "dropped", "key": dropped["key"]})
        if questions:
            engine.answer(questions.pop())
        busy = engine.work()


def _take_stdout() -> BinaryIO:
    """The real stdout, for messages; all prints, from Python or libraries, go to stderr from now on."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return out


def _read(stream: BinaryIO, inbox: "queue.SimpleQueue[Message]") -> None:
    """Fills the inbox. When the stream ends, the process ends at once, even while a step hangs.

    Logs that nobody asked to be kept go with it: the parent may have been killed.
    """
    try:
        while (message := wire.receive(stream)) is not None:
            inbox.put(message)
    except Exception as error:
        event("message_unreadable", logging.ERROR, **told(error))
        os._exit(1)
    runs = Path(os.environ[FOLDER])
    if is_temporary(runs):
        shutil.rmtree(runs, ignore_errors=True)
    os._exit(0)


def _bound_memory(megabytes: int) -> None:
    """Bounds the address space, so that no run can take the whole machine; not with a GPU, whose driver maps more."""
    import torch

    if sys.platform == "linux" and megabytes and not torch.cuda.is_available():
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[1]
        wanted = megabytes * 10**6
        resource.setrlimit(resource.RLIMIT_AS, (wanted if most == resource.RLIM_INFINITY else min(wanted, most), most))


if __name__ == "__main__":
    main()
