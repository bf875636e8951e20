"""One subject, tried: its images instrumented, its job run in each way, the runs held against each other."""

import collections
import csv
import difflib
import json
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path


# Selects functions, loops and call sites.
LEVELS = Path(__file__).parent / "levels.xml"


# Kinds of functions that are never moved, as docs/instrument.md lists them. They are few, so that they matter in images with
# fewer functions than this alone.
NEVER_MOVED = {
    "special unwinding",
    "hardware transaction",
    "overlapping code",
    "call into its own body",
    "a jump to pieces of code whose sizes must stay",
    "another function has the address of one of its instructions",
}
SMALL = 5000

# Code that is never moved because its runtime finds frames by where it stands. The share is that of the others: with these, however
# many there are, nothing of the rest would be seen.
BY_PLACE = {"a builtin of V8, which finds frames by where its code stands"}


@dataclass
class Image:
    """What became of one image."""

    path: str
    functions: dict
    reasons: dict
    seconds: float
    size_ratio: float

    @property
    def share(self):
        movable = self.functions["selected"] - sum(self.reasons.get(one, 0) for one in BY_PLACE)
        return self.functions["instrumented"] / movable if movable else 1.0

    def is_whole(self, least):
        """Whether all functions are instrumented that must be: in a small image all but those that are never moved."""
        is_small = self.functions["selected"] < SMALL
        return self.share >= least or (is_small and set(self.reasons) <= NEVER_MOVED)


@dataclass
class Result:
    name: str
    images: list = field(default_factory=list)
    entries: int = 0
    exits: int = 0
    processes: int = 0
    calls: int = 0
    times: dict = field(default_factory=dict)
    # What does not hold, in words.
    faults: list = field(default_factory=list)
    least: float = 0.999
    why: str = ""

    @property
    def holds(self):
        return not self.faults


def examine(subject, place):
    result = Result(subject.name, least=subject.least, why=subject.why)
    try:
        originals = prepare(subject, place)
        copies = instrument(originals, place, result, poison=False)
        traps = instrument(originals, place, None, poison=True)
    except Failed as failed:
        result.faults.append(str(failed))
        return result
    plain = work(subject, place)
    result.times["original"] = plain.seconds
    if not kept(plain, subject):
        result.faults.append(f"the job itself fails: status {plain.status}, {plain.errors[-300:]}")
        return result
    for image in result.images:
        if not image.is_whole(subject.least):
            result.faults.append(f"only {image.share:.3%} of {image.path}")
    ways = [("poisoned", traps)] if not subject.counted else [("counted", copies), ("poisoned", traps)]
    for way, images in ways:
        run = counted_run(subject, place, images, result, way)
        compare(way, plain, run, subject, result)
    if not subject.counted:
        compare("copied", plain, work(subject, place, copies), subject, result)
    if subject.measured:
        measure(subject, place, copies, plain, result)
    return result


class Failed(Exception):
    """A step that must succeed did not."""


def prepare(subject, place):
    """Builds what is to be built; the paths of the subject's images, links followed."""
    if subject.build:
        place.folder("build")
        script = f"cd $BUILD\n{subject.build}"
        run = place.shell("set -e\n" + script, subject.patience)
        if run.status != 0:
            raise Failed(f"the build fails: {run.errors[-500:]}")
    # A job without its programs does nothing, and that the same each time.
    packages = " ".join(subject.packages)
    installed = f"if command -v dpkg-query > /dev/null; then for one in {packages}; do dpkg-query -W $one > /dev/null; done; fi"
    run = place.shell(f"{installed}; for image in {' '.join(subject.images)}; do realpath -e $image; done", subject.patience)
    if run.errors:
        raise Failed(f"not there: {run.errors.strip()}; packages: {packages}")
    return [Path(line) for line in run.output.splitlines()]


def instrument(originals, place, result, poison):
    """Pairs of an original and its copy; numbers go into the result."""
    folder = place.folder("poisoned" if poison else "copies")
    pairs = []
    for number, original in enumerate(originals):
        copy = folder / f"{number}-{original.name}"
        words = [place.tare, "instrument", original, "-o", copy, "--format", "json"]
        words += ["--filter", LEVELS] if place.levels else ["--preset", "all"]
        words += ["--poison"] if poison else []
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Failed(f"{original} is not instrumented: {done.stderr.strip()}")
        pairs.append((original, copy))
        if result is not None:
            said = json.loads(done.stdout)
            reasons = collections.Counter(refusal["reason"] for refusal in said["refusals"])
            seconds = sum(phase["seconds"] for phase in said["phases"])
            ratio = copy.stat().st_size / original.stat().st_size
            result.images.append(Image(str(original), said["functions"], dict(reasons), seconds, ratio))
    return pairs


def work(subject, place, copies=(), environment=None, before=()):
    """The subject's job."""
    return place.shell(subject.job, subject.patience, copies, environment, before)


def counted_run(subject, place, copies, result, way):
    """The job under the runtime that counts."""
    if not subject.counted:
        return work(subject, place, copies)
    counts = place.folder("counts")
    counts.chmod(0o777)
    run = work(subject, place, copies, {"LD_PRELOAD": place.counter, "COUNT_FILE": f"{counts}/"})
    entries = exits = 0
    files = list(counts.iterdir())
    for file in files:
        for line in file.read_text().splitlines():
            region, entered, _, left = map(int, line.split())
            entries, exits = entries + entered, exits + left
            if left > entered:
                result.faults.append(f"{way}: region {region} is entered {entered} times and left {left} times")
    if entries == 0:
        result.faults.append(f"{way}: no probe was reached")
    if way == "counted":
        result.entries, result.exits, result.processes = entries, exits, len(files)
    result.times[way] = run.seconds
    return run


def measure(subject, place, copies, plain, result):
    """The job under Tareweight's own runtime."""
    folder = place.path / "run"
    before = [place.tare, "run", "--mpi", subject_mpi(subject), "-o", folder, "--"]
    run = work(subject, place, copies, before=before)
    result.times["measured"] = run.seconds
    compare("measured", plain, run, subject, result)
    # Row by row: a run of many processes with a hundred thousand call paths each is more than memory holds at once.
    errors = place.path / "errors"
    words = [place.tare, "report", folder, "--format", "csv"]
    with errors.open("w") as file, subprocess.Popen(words, stdout=subprocess.PIPE, stderr=file, text=True) as report:
        result.calls = sum(int(row["calls"] or 0) for row in csv.DictReader(report.stdout))
    if report.returncode != 0:
        result.faults.append(f"no report: {errors.read_text().strip()}")
    elif result.calls == 0:
        result.faults.append("measured: no call was seen")


def subject_mpi(subject):
    return "openmpi" if "mpirun" in subject.job else "none"


def kept(run, subject):
    """The lines that must not change, with the status."""
    lines = [line for line in run.output.splitlines() if re.search(subject.keep, line)]
    return [*lines, f"status {run.status}"] if lines else []


def compare(way, plain, run, subject, result):
    wanted, found = kept(plain, subject), kept(run, subject)
    if wanted != found:
        said = f" {run.errors[-600:]}" if run.status != plain.status else ""
        changes = [line for line in difflib.unified_diff(wanted, found, lineterm="", n=0) if line[:1] in "+-"][2:12]
        result.faults.append(f"{way}: other output: {' | '.join(changes)[:600]}{said}")
