"""The trainer's process: `python -m models.service.worker`. Reads messages on stdin, writes them to stdout.

It listens on nothing, trains at low priority, and ends with its parent.
"""

import gc
import logging
import os
import queue
import shutil
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from models.log import configure_logging, error_facts, event
from models.service import wire
from models.service.runs import FOLDER_VARIABLE, is_temporary
from models.service.sharing import QuestionQueue
from models.service.wire import Message
from models.spec.budget import set_machine
from models.spec.limits import LIMITS

if TYPE_CHECKING:
    from models.service.engine import Engine

NICENESS = 5
MAX_WAITING_QUESTIONS = 256


def main() -> None:
    """Serves the parent until the pipe ends."""
    out = _take_stdout()
    configure_logging()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent; the end of stdin follows
    if hasattr(os, "nice"):
        os.nice(NICENESS)  # before torch is loaded: the first page, drawn from a recording, must not wait for it
    inbox: queue.SimpleQueue[Message] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(sys.stdin.buffer, inbox), daemon=True).start()

    import torch

    from models.service.calibration import measure_machine
    from models.service.engine import Engine

    torch.set_num_threads(LIMITS.cores)
    _bound_memory(LIMITS.address_space)
    engine = Engine(lambda message: wire.send(out, message), Path(os.environ[FOLDER_VARIABLE]))
    machine = measure_machine()
    set_machine(machine)
    gc.freeze()  # a collection would look at all of torch, and make somebody wait for 80 ms
    engine.announce(os.getpid(), machine)  # from here on a silent worker counts as hung
    serve(engine, inbox)


def serve(engine: "Engine", inbox: "queue.SimpleQueue[Message]") -> None:
    """Alternates between slices of work and one question each; never returns."""
    questions = QuestionQueue(MAX_WAITING_QUESTIONS)
    busy = False
    while True:
        while not inbox.empty() or not (busy or questions):
            message = inbox.get()
            if message["kind"] == "requests":
                engine.set_requests(message)
                busy = True
            elif message["kind"] == "ping":
                engine.emit({"kind": "pong"})
            elif message["kind"] == "cancel":
                questions.cancel(message["key"])
                engine.cancel(message["key"])
            else:
                dropped = questions.put(message)
                if dropped is not None:
                    engine.emit({"kind": "dropped", "key": dropped["key"]})
        if questions:
            engine.answer(questions.pop())
        busy = engine.work()


def _take_stdout() -> BinaryIO:
    """The real stdout, reserved for messages; whatever Python or a library prints goes to stderr from now on."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return out


def _read(stream: BinaryIO, inbox: "queue.SimpleQueue[Message]") -> None:
    """Fills the inbox. When the stream ends, the process ends at once, even while a step hangs.

    It also deletes a temporary folder of logs, because a killed parent cannot.
    """
    try:
        while (message := wire.receive(stream)) is not None:
            inbox.put(message)
    except Exception as error:
        event("message_unreadable", logging.ERROR, **error_facts(error))
        os._exit(1)
    runs = Path(os.environ[FOLDER_VARIABLE])
    if is_temporary(runs):
        shutil.rmtree(runs, ignore_errors=True)
    os._exit(0)


def _bound_memory(megabytes: int) -> None:
    """Bounds the address space, so that no run takes the whole machine. With a GPU no bound: its driver maps more."""
    import torch

    if sys.platform == "linux" and megabytes and not torch.cuda.is_available():
        import resource

        _, hard_limit = resource.getrlimit(resource.RLIMIT_AS)
        limit = megabytes * 10**6
        if hard_limit != resource.RLIM_INFINITY:
            limit = min(limit, hard_limit)
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard_limit))


if __name__ == "__main__":
    main()
