#!/usr/bin/env python3
"""Runs what Tareweight loads into programs under the address and the thread sanitizer.

The libraries are built with a sanitizer (a switch of rustc that is not stable: RUSTC_BOOTSTRAP), programs with clang's. Storms of threads,
forks and signals, and messages under each MPI library, run measured in every mode, switched off and on from outside meanwhile. A report
counts where the tool's code is in it; what a program prints must be what it prints unmeasured.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
LIBRARIES = {
    "libtare.so": "tare-preload-runtime",
    "libtare_openmpi.so": "tare-preload-openmpi",
    "libtare_mpich.so": "tare-preload-mpich",
    "libtare_mpiabi.so": "tare-preload-mpiabi",
}
TARGET_DIRECTORY = Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"))
# An MPI library of the standard's ABI, where one was unpacked (tools/install-mpi-abi).
MPI_ABI = TARGET_DIRECTORY / "tools/mpi-abi"
TARGET = "x86_64-unknown-linux-gnu"
# Some functions that rustc's LLVM calls are newer than the runtime of the clang that builds the programs.
NEWER = """#include <string.h>
void *__tsan_memcpy(void *to, const void *from, unsigned long size) { return memcpy(to, from, size); }
void *__tsan_memmove(void *to, const void *from, unsigned long size) { return memmove(to, from, size); }
void *__tsan_memset(void *to, int byte, unsigned long size) { return memset(to, byte, size); }
"""
# What is reported of a program itself, of the memory that MPI libraries keep, or of threads that they do not tell of, is not ours.
OPTIONS = {
    "address": {"ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0:halt_on_error=0:verify_asan_link_order=0"},
    "thread": {"TSAN_OPTIONS": "halt_on_error=0:report_signal_unsafe=0:history_size=4:exitcode=0"},
}
# What is switched off and on: all regions; under the thread sanitizer some of each program, so that others go on to follow requests.
SWITCHED = {"address": "/./", "thread": "/e/"}
PATTERNS = ["workers", "rendezvous", "halo", "started"]
MODES = [["--exact"], [], ["--budget", "2%"]]
# A run that takes longer than this, in seconds, hangs.
PATIENCE = 900
MPI = {
    "OMPI_CC": "clang",
    "MPICH_CC": "clang",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}


def build(sanitizer, tare, folder):
    """A directory with `tare` and sanitized libraries beside it."""
    target = TARGET_DIRECTORY / f"sanitize-{sanitizer}"
    flags = f"-Zsanitizer={sanitizer} -Cunsafe-allow-abi-mismatch=sanitizer"
    environment = {**os.environ, "RUSTC_BOOTSTRAP": "1", "RUSTFLAGS": flags, "CARGO_TARGET_DIR": str(target)}
    packages = [word for name in LIBRARIES.values() for word in ("-p", name)]
    subprocess.run(["cargo", "build", "--release", "--target", TARGET, *packages], cwd=HERE.parent, env=environment, check=True)
    shutil.copy(tare, folder / "tare")
    for library in Path(tare).parent.glob("libtare*.so"):
        shutil.copy(library, folder / library.name)
    for library in LIBRARIES:
        shutil.copy(target / TARGET / "release" / library, folder / library)
        if sanitizer == "thread":
            hide(folder / library, "pthread_create")
    return folder / "tare"


def hide(library, name):
    """Lets a library export a function under another name. The thread sanitizer starts a thread of its own by `pthread_create`, which is none
    that its functions know."""
    sections = subprocess.run(["readelf", "-W", "-S", library], capture_output=True, text=True, check=True).stdout
    section = re.search(r"\.dynstr +STRTAB +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+)", sections)
    offset, size = (int(number, 16) for number in section.groups())
    data = bytearray(library.read_bytes())
    names = bytes(data[offset : offset + size])
    at = names.index(f"\0{name}\0".encode()) + 1
    data[offset + at] = ord("_")
    library.write_bytes(data)


def programs(sanitizer, folder):
    """Names of programs and how they are started."""
    newer = folder / "newer.c"
    newer.write_text(NEWER if sanitizer == "thread" else "")
    known = [str(HERE / "sanitizers/known_threads.c")] if sanitizer == "thread" else []
    flags = ["-g", "-O1", f"-fsanitize={sanitizer}", "-rdynamic", str(newer), *known, "-pthread", "-lm"]
    environment = {**os.environ, **MPI}
    storm = folder / "storm"
    subprocess.run(["clang", str(HERE / "sanitizers/storm.c"), "-o", str(storm), *flags], check=True)
    yield "storm", storm, [str(storm)]
    for library, compiler, launcher in mpi_libraries():
        program = folder / f"patterns.{library}"
        source = HERE.parent / "examples/patterns/patterns.c"
        subprocess.run([compiler, str(source), "-o", str(program), *flags], env=environment, check=True)
        for pattern in PATTERNS:
            yield f"{pattern}.{library}", program, [launcher, "-n", "2", str(program), pattern]


def mpi_libraries():
    """Names of MPI libraries, their compilers and launchers."""
    for library in ("openmpi", "mpich"):
        yield library, f"mpicc.{library}", f"mpirun.{library}"
    if (MPI_ABI / "lib/libmpi_abi.so.1").exists():
        yield "mpiabi", str(MPI_ABI / "bin/mpicc_abi"), str(MPI_ABI / "bin/mpiexec")
    else:
        print(f"left out: no MPI library of the standard's ABI is in {MPI_ABI}")


def own_functions(program):
    """The functions that come from the program's source: those of the sanitizer's runtime must not be measured."""
    symbols = subprocess.run(["nm", "-l", "--defined-only", str(program)], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^[0-9a-f]+ [Tt] (\w+)\s+\S+\.c:\d+$", symbols, re.M)
    return [name for name in found if not name.startswith("__tsan") and name != "refuse_unknown_threads"]


def reports(text):
    """Reports of a sanitizer in which the tool's code stands."""
    found = re.split(r"(?==+\n==?\d*=*ERROR: AddressSanitizer|WARNING: ThreadSanitizer)", text)[1:]
    return [report for report in found if "libtare" in report.split("Previous")[0] or "libtare" in report.split("SUMMARY")[0]]


def switch(tare, run, pattern, process, environment):
    """Switches regions off and on from outside while a program runs, and says how often that was followed; one that hangs is ended."""
    end = time.monotonic() + PATIENCE
    followed = 0
    while process.poll() is None:
        if time.monotonic() > end:
            os.killpg(process.pid, signal.SIGKILL)
        for what in ("--off", "--on"):
            if (run / "run.json").exists():
                request = [str(tare), "ctl", str(run), what, pattern, "--format", "json"]
                answer = subprocess.run(request, env=environment, capture_output=True, text=True)
                followed += '"followed":true' in answer.stdout
        time.sleep(0.05)
    return followed


def measured(tare, name, words, arguments, sanitizer, folder):
    """The status of a measured run, what it printed, how often its regions were switched, and the reports."""
    run = folder / "run"
    shutil.rmtree(run, ignore_errors=True)
    environment = {**os.environ, **MPI, **OPTIONS[sanitizer], "TARE_CACHE": str(folder / "cache")}
    command = [str(tare), "profile", "-o", str(run), "--filter", str(folder / f"{name}.names"), "--filter-format", "names", *arguments, "--", *words]
    with open(folder / "out", "w+") as out, open(folder / "err", "w+") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err, env=environment, start_new_session=True)
        followed = switch(tare, run, SWITCHED[sanitizer], process, environment)
        out.seek(0), err.seek(0)
        return process.returncode, out.read(), followed, reports(err.read())


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--tare", required=True, help="the command, with its libraries beside it")
    arguments.add_argument("--sanitizer", choices=["thread", "address"], action="append", help="may be given twice (default: both)")
    arguments.add_argument("programs", nargs="*", help="by their names in what is printed (default: all)")
    options = arguments.parse_args()
    found = 0
    for sanitizer in options.sanitizer or ["thread", "address"]:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            tare = build(sanitizer, options.tare, folder)
            for name, program, words in programs(sanitizer, folder):
                if options.programs and name not in options.programs:
                    continue
                (folder / f"{name}.names").write_text("".join(f"{one}\n" for one in own_functions(program)))
                plain = subprocess.run(words, capture_output=True, text=True, env={**os.environ, **MPI, **OPTIONS[sanitizer]})
                for mode in MODES:
                    status, out, followed, bad = measured(tare, name, words, mode, sanitizer, folder)
                    is_same = (status, out) == (plain.returncode, plain.stdout) or name != "storm" and status == plain.returncode
                    print(f"{sanitizer:8} {name:16} {' '.join(mode) or '-':12} {'same' if is_same else f'OTHERWISE (status {status} for {plain.returncode})'}, switched {followed} times, {len(bad)} reports", flush=True)
                    found += len(bad) + (not is_same) + (not followed)
                    for report in bad[:2]:
                        print(report[:3000])
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
