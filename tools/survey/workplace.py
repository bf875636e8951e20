"""Where subjects are tried: a directory, and a mount namespace in which copies stand at the place of originals."""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# The exit status where the machine lacks what the survey needs.
UNAVAILABLE = 69


@dataclass(frozen=True)
class Run:
    """How a job ended."""

    status: int
    output: str
    errors: str
    seconds: float


class Workplace:
    """Everything below one directory; jobs always run in the same one, so that what they print of it stays equal."""

    def __init__(self, tare, keep, levels):
        self.tare = tare
        self.levels = levels
        self.namespace = namespace()
        self.temporary = None if keep else tempfile.TemporaryDirectory(prefix="survey-")
        self.path = Path(keep or self.temporary.name).resolve()
        self.path.mkdir(parents=True, exist_ok=True)
        self.path.chmod(0o755)

    def __enter__(self):
        self.counter = self.path / "count.so"
        source = ROOT / "crates/rewrite/tests/programs/count.c"
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", self.counter, source], check=True)
        return self

    def __exit__(self, *_):
        if self.temporary:
            self.temporary.cleanup()

    def folder(self, *parts):
        """An empty directory."""
        path = self.path.joinpath(*parts)
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        return path

    def shell(self, lines, patience, copies=(), environment=None, before=()):
        """Runs shell lines in the job's directory for so many seconds at most, with each copy at the place of its original."""
        job = self.folder("job")
        job.chmod(0o777)
        script = self.path / "job.sh"
        script.write_text(lines)
        mounts = [f"mount --bind {shlex.quote(str(copy))} {shlex.quote(str(original))}" for original, copy in copies]
        words = shlex.join([*map(str, before), "sh", str(script)])
        inner = " && ".join([*mounts, "cd " + shlex.quote(str(job)), "exec " + with_environment(environment, words)])
        begin = os.times()
        done = subprocess.Popen([*self.namespace, "sh", "-c", inner], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env=plain_environment(self), start_new_session=True)
        try:
            output, errors = done.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            os.killpg(done.pid, 9)
            output, errors = done.communicate()
        return Run(done.returncode, text(output), text(errors), os.times().elapsed - begin.elapsed)


def namespace():
    """The words that begin a mount namespace on this machine: as root, else as the root of a user namespace."""
    for words in (["unshare", "--mount"], ["unshare", "--map-root-user", "--mount"]):
        if subprocess.run([*words, "true"], capture_output=True, check=False).returncode == 0:
            return words
    print("survey: this machine allows no mount namespaces\n      try: as root, or outside of the container", file=sys.stderr)
    sys.exit(UNAVAILABLE)


def with_environment(variables, words):
    """The words of a command, in an environment that reaches nothing before it."""
    return shlex.join(["env", *(f"{name}={value}" for name, value in (variables or {}).items())]) + " " + words if variables else words


def plain_environment(place):
    """One environment for all runs: nothing of the user's, and the distribution's own programs."""
    return {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": str(place.path / "job"),
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "SURVEY": str(Path(__file__).parent),
        "PROJECT": str(ROOT),
        "BUILD": str(place.path / "build"),
        "TARE_CACHE": str(place.path / "cache"),
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
    }


def text(data):
    return data.decode(errors="replace")
