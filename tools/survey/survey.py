#!/usr/bin/env python3
"""Instruments every function of real programs and has them do real work.

For each subject (a file in `subjects`) its images are instrumented whole, with `--preset all` or `levels.xml`. Then its job runs
three times more than without us: with copies that count entries and exits, with copies whose original bodies are
traps (`--poison`), and under Tareweight's own runtime. In a mount namespace of its own each copy stands at the place of
its original, so that whoever starts or loads it gets the copy, and nothing else on the machine does.

A subject holds if at least 99.9 % of the functions of each image are instrumented (in small images all but those of kinds
that are never moved), each run prints what the
original prints and ends as it does, and no region is left more often than it is entered.
"""

import argparse
import json
import sys
from pathlib import Path

from subject import load
from table import document, text
from trial import examine
from workplace import Workplace


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("subjects", nargs="*", help="names of files in `subjects` (default: all)")
    parser.add_argument("--fast", action="store_true", help="only subjects that are marked as fast")
    parser.add_argument("--tare", default="target/release/tare", help="the command (default: %(default)s)")
    parser.add_argument("--levels", action="store_true", help="instrument loops and call sites as well")
    parser.add_argument("--json", metavar="FILE", help="write the results as JSON as well")
    parser.add_argument("--packages", action="store_true", help="only print the Debian packages that the subjects need")
    parser.add_argument("--keep", metavar="DIR", help="work in DIR and leave everything there")
    return parser.parse_args()


def main():
    options = arguments()
    subjects = [one for one in load(options.subjects) if one.fast or not options.fast]
    if options.packages:
        print(*sorted({package for one in subjects for package in one.packages}))
        return
    tare = Path(options.tare).resolve()
    if not tare.is_file():
        sys.exit(f"survey: {tare} is not there\n      try: make build, or --tare PATH")
    results = []
    with Workplace(tare, options.keep, options.levels) as place:
        for subject in subjects:
            print(f"survey: {subject.name}", file=sys.stderr, flush=True)
            results.append(examine(subject, place))
            # As it goes, so that a survey that is cut off leaves what it has found.
            if options.json:
                Path(options.json).write_text(json.dumps(document(results), indent=1) + "\n")
    print(text(results))
    sys.exit(0 if all(one.holds for one in results) else 1)


if __name__ == "__main__":
    main()
