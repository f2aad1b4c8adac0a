"""Work in processes of its own, which may die without harm: forked, so that nothing is imported again."""

import faulthandler
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any

_BATCH = 500

Answer = dict[str, Any]


def forked(
    work: Callable[[int], Answer], items: Sequence[int], prepare: Callable[[], None]
) -> Iterator[tuple[int, Answer]]:
    """Each item and its answer; of an item that its process died of, `{"died": how}`.

    Args:
        work: gives an answer that JSON can hold.
        items: what to work on, in order.
        prepare: runs first in each process.
    """
    left = list(items)
    while left:
        batch = left[:_BATCH]
        reading, writing = os.pipe()
        sys.stdout.flush()
        process = os.fork()
        if process == 0:
            os.close(reading)
            _work(work, batch, prepare, writing)
        os.close(writing)
        done = 0
        with os.fdopen(reading) as lines:
            for line in lines:
                yield batch[done], json.loads(line)
                done += 1
        _, status = os.waitpid(process, 0)
        if done < len(batch):
            yield batch[done], {"died": _how(status)}
            done += 1
        left = left[done:]


def _work(work: Callable[[int], Answer], batch: Sequence[int], prepare: Callable[[], None], writing: int) -> None:
    status = 1
    faulthandler.disable()  # who dies here is expected to
    try:
        prepare()
        with os.fdopen(writing, "w") as answers:
            for item in batch:
                print(json.dumps(work(item)), file=answers, flush=True)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def _how(status: int) -> str:
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    return f"exit {os.WEXITSTATUS(status)}"


def limit_time(cpu_seconds: float, wall_seconds: int) -> None:
    """The process dies when it works longer than this from now on, by either clock: for what `forked` runs alone."""
    signal.setitimer(signal.ITIMER_PROF, cpu_seconds)
    signal.alarm(wall_seconds)
