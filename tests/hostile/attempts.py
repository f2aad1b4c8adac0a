"""One damaged file through `arenite compile` and `arenite inspect`, and some through all that follows."""

import json
import shutil
import tempfile
from pathlib import Path

from hostile.commands import Ended, command, faults_of_message, forget_peak, limit, peak_nbytes
from hostile.damage import Copies
from hostile.forked import Answer
from hostile.further import further_faults

_INSPECT_EVERY = 10
_YES = "can be compiled\n"


def attempt(file: Copies, number: int, *, further_every: int = 0) -> Answer:
    """Whether a copy was compiled, what is wrong with how it ended, and the most memory that it took.

    Of a copy that was compiled, one in ten is inspected too: `inspect` compiles, and shall say that it can.

    Args:
        file: has the copies.
        number: which one.
        further_every: of how many copies one goes on to the other commands; none, by default.
    """
    limit()
    forget_peak()
    with tempfile.TemporaryDirectory(prefix="damaged-") as name:
        folder = Path(name)
        model, bundle = folder / "m.tflite", folder / "bundle"
        model.write_bytes(file.copy(number))
        compiled = command("compile", str(model), "-o", str(bundle), "--simulate", "off")
        faults = _faults(compiled, bundle)
        if not compiled.status and further_every and number % further_every == 0:
            faults += further_faults(file.data, model, bundle, compiler=shutil.which("gcc") is not None)
        if compiled.status or number // 10 % _INSPECT_EVERY == 0:
            shutil.rmtree(bundle, ignore_errors=True)
            limit()
            seen = command("inspect", str(model))
            faults += faults_of_message(seen)
            if (compiled.status == 0) != (seen.status == 0 and seen.out.endswith(_YES)):
                faults.append(f"inspect and compile do not agree: {compiled.err}{seen.err}{seen.out[-200:]}")
        shutil.rmtree(bundle, ignore_errors=True)
        faults += [f"{path.name} is left behind" for path in folder.iterdir() if path != model]
    return {
        "compiled": compiled.status == 0,
        "message": compiled.err.replace(name, "")[:500],
        "faults": faults,
        "peak_nbytes": peak_nbytes(),
    }


def _faults(ended: Ended, bundle: Path) -> list[str]:
    faults = faults_of_message(ended)
    if ended.status:
        return faults + (["a part of the bundle is written"] if bundle.exists() else [])
    listed = json.loads((bundle / "report.json").read_text(encoding="utf-8"))["files"]
    there = sorted(path.name for path in bundle.iterdir())
    return faults + ([] if listed == there else [f"{there} are written, {listed} are listed"])
