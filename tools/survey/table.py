"""The results as a table in Markdown, and as a document for programs."""

from dataclasses import asdict
from pathlib import Path

HEAD = ("subject", "image", "functions", "instrumented", "refused", "size", "seconds", "entries", "not left", "job, poisoned, measured")
REFUSALS = 4


def text(results):
    rows = [row for result in results for row in rows_of(result)]
    lines = ["| " + " | ".join(row) + " |" for row in (HEAD, ("---",) * len(HEAD), *rows)]
    for result in results:
        lines += [f"\n{result.name}: {fault}" for fault in result.faults]
        if result.why:
            lines.append(f"\n{result.name}: at least {result.least:.1%}, because {result.why}")
    holds = sum(result.holds for result in results)
    return "\n".join([*lines, "", f"{holds} of {len(results)} subjects hold."])


def rows_of(result):
    """One row an image; what is said of the job stands in the first."""
    job = (f"{result.entries:,}", f"{result.entries - result.exits:,}", "same" if result.holds else "see below")
    if not result.entries:
        job = ("–", "–", job[2])
    if not result.images:
        return [(result.name, *("–",) * (len(HEAD) - 2), "see below")]
    return [
        (result.name if first else "", *row_of(image), *(job if first else ("", "", "")))
        for first, image in zip([True] + [False] * len(result.images), result.images)
    ]


def row_of(image):
    counts = image.functions
    reasons = sorted(image.reasons.items(), key=lambda one: -one[1])
    refused = ", ".join(f"{count} {reason}" for reason, count in reasons[:REFUSALS]) or "–"
    return (
        Path(image.path).name,
        f"{counts['selected']:,}",
        f"{image.share:.3%}",
        refused,
        f"{image.size_ratio:.2f} ×",
        f"{image.seconds:.2f}",
    )


def document(results):
    return {"schema": 1, "subjects": [asdict(result) | {"holds": result.holds} for result in results]}
