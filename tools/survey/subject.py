"""What is surveyed: one TOML file a subject.

    packages  Debian packages that bring the images and what the job needs
    build     shell lines that make programs of our own in the present directory (optional)
    images    what is instrumented: paths as the shell expands them, after the build
    job       shell lines that do real work; what they print, and their status, must not change
    keep      a regular expression: only lines of output that it is found in are compared (optional)
    least     the share of functions that must be instrumented, where it is not 0.999 (with `why`); small images hold as well
              where all that is refused is of the kinds that are never moved
    why       reason of `least`
    counted   false where entries and exits cannot be counted (a static program takes no library; one that ends by _exit writes nothing)
    measured  false where the runtime cannot be loaded
    fast      true for the subset that the tests of the project run
    root      true where the job needs a real root
    patience  seconds that the job may take, where it is not 900
"""

import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "subjects"


@dataclass(frozen=True)
class Subject:
    name: str
    images: list
    job: str
    packages: tuple = ()
    build: str = ""
    keep: str = ""
    least: float = 0.999
    why: str = ""
    counted: bool = True
    measured: bool = True
    fast: bool = False
    root: bool = False
    patience: int = 900


def load(names):
    """The subjects of these names; all, sorted, where no name is given."""
    files = sorted(FOLDER.glob("*.toml"))
    known = {file.stem: file for file in files}
    for name in names:
        if name not in known:
            sys.exit(f"survey: there is no subject {name}\n      try: one of {', '.join(known)}")
    return [read(known[name]) for name in names or known]


def read(file):
    with file.open("rb") as stream:
        return Subject(name=file.stem, **tomllib.load(stream))
