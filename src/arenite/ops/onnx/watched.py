"""Ends runs of onnxruntime that never end or take too much memory: small files may loop, and it hears no interrupt."""

import threading
import time
from collections.abc import Callable
from typing import Any

MOST_SECONDS = 120.0
MOST_NBYTES = 2**32
_EVERY_SECONDS = 0.05


class Watch:
    """Watches one run, in a thread of its own.

    Attributes:
        reason: why the run was ended; empty when it was not.
    """

    def __init__(self, options: Any, seconds: float, nbytes: int) -> None:
        self._options = options
        self.reason = ""
        self._limits = seconds, nbytes
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        seconds, nbytes = self._limits
        end, most = time.monotonic() + seconds, _peak_nbytes() + nbytes
        while not self.reason and not self._done.wait(_EVERY_SECONDS):
            if time.monotonic() > end:
                self.reason = f"it runs for more than {seconds:g} s"
            elif _peak_nbytes() > most:
                self.reason = f"it takes more than {nbytes:,} bytes of memory"
        self._options.terminate = bool(self.reason)


def watched(run: Callable[[Any], Any], options: Any, seconds: float = MOST_SECONDS, nbytes: int = MOST_NBYTES) -> Any:
    """What a run gives, which is handed its options: onnxruntime's `RunOptions`.

    Raises:
        TimeoutError: it was ended for the time or the memory that it took.
    """
    with Watch(options, seconds, nbytes) as watch:
        try:
            return run(options)
        except Exception:
            if watch.reason:
                raise TimeoutError(watch.reason) from None
            raise


def _peak_nbytes() -> int:
    """The most memory that this process has had; 0 where nobody knows."""
    try:
        import resource  # noqa: PLC0415 - not everywhere
    except ImportError:
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
