#!/usr/bin/env python3
"""Checks the documents of the project: scripts/documents.py

- Lines are at most 100 characters wide, but for tables, code, words that are longer, and reports that
  unjank has written.
- Links to files and headings of the project lead somewhere.
- Links lead from README.md to every page in docs.
- Paths in ARCHITECTURE.md that begin at the root of the project, or in `crates`, exist.
- Libraries whose examples are not run (`doctest = false`) have none in their documentation.

Prints each place that is wrong, and fails if there is one.
"""

import re
import subprocess
import sys
from pathlib import Path

WIDTH = 100
WRITTEN_BY_UNJANK = ["docs/results/reproduction.md"]
ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`\s]+)`")
FENCE = re.compile(r"^\s*(```|~~~)")
EXAMPLE = re.compile(r"^\s*//[/!] *(?:```|~~~)(.*)")
NOT_RUST = re.compile(r"text|sh|json|toml|ignore")


def files():
    """The Markdown files that are part of the project."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )
    return [ROOT / name for name in listed.stdout.split()]


def prose(file):
    """The lines of a file outside of code, with their numbers."""
    in_code = False
    for number, line in enumerate(file.read_text().splitlines(), 1):
        if FENCE.match(line):
            in_code = not in_code
        elif not in_code:
            yield number, line


def anchor(heading):
    """What a heading is called in a link, as GitHub makes it."""
    words = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return words.replace(" ", "-")


def anchors(file):
    """All headings of a file, as they are called in links."""
    headings = (line.lstrip("#") for _, line in prose(file) if line.startswith("#"))
    return {anchor(heading) for heading in headings}


def too_wide(line):
    """Whether a line could be broken before its end."""
    if len(line) <= WIDTH or line.lstrip().startswith("|"):
        return False
    indent = len(line) - len(line.lstrip())
    return " " in line[indent:WIDTH].lstrip("-*0123456789.> ")


def wrong_link(file, target):
    """Why a link of a file leads nowhere; None if it leads somewhere, or out of the project."""
    if re.match(r"[a-z]+:", target):
        return None
    path, _, fragment = target.partition("#")
    place = (file.parent / path).resolve() if path else file
    if not place.exists():
        return "there is no such file"
    if fragment and place.suffix == ".md" and fragment not in anchors(place):
        return "there is no such heading"
    return None


def linked(file):
    """The Markdown files to which the links of a file lead."""
    targets = (target for _, line in prose(file) for target in LINK.findall(line))
    places = ((file.parent / target.partition("#")[0]).resolve() for target in targets)
    return {place for place in places if place.suffix == ".md" and place.exists()}


def unreachable(pages):
    """The pages to which no links lead from README.md."""
    found, new = set(), {ROOT / "README.md"}
    while new:
        found |= new
        new = set().union(*map(linked, new)) - found
    return sorted(set(pages) - found)


def missing_paths(line):
    """Paths in backticks that begin at the root or in `crates`, and do not exist."""
    for path in CODE.findall(line):
        first, slash, _ = path.partition("/")
        if not first or not slash:
            continue
        for above in [ROOT, ROOT / "crates"]:
            if (above / first).is_dir() and not (above / path).exists():
                yield path


def examples_that_do_not_run():
    """Places of Rust examples in the documentation of libraries with `doctest = false`."""
    for manifest in sorted(ROOT.glob("crates/*/Cargo.toml")):
        if "doctest = false" not in manifest.read_text():
            continue
        for file in sorted(manifest.parent.glob("src/**/*.rs")):
            in_code = False
            for number, line in enumerate(file.read_text().splitlines(), 1):
                fence = EXAMPLE.match(line)
                if fence and not in_code and not NOT_RUST.match(fence[1]):
                    yield file.relative_to(ROOT), number
                in_code = in_code != bool(fence)


def main():
    wrong = [
        f"{file}:{number}: this example is not run: doctest = false"
        for file, number in examples_that_do_not_run()
    ]
    for file in files():
        if not file.exists():
            continue
        name = file.relative_to(ROOT)
        for number, line in prose(file):
            if too_wide(line) and str(name) not in WRITTEN_BY_UNJANK:
                wrong.append(f"{name}:{number}: {len(line)} characters; {WIDTH} are the most")
            for target in LINK.findall(line):
                if why := wrong_link(file, target):
                    wrong.append(f"{name}:{number}: {target}: {why}")
            if name.name == "ARCHITECTURE.md":
                for path in missing_paths(line):
                    wrong.append(f"{name}:{number}: {path}: there is no such file")
    docs = [file for file in files() if ROOT / "docs" in file.parents]
    wrong += [f"{page.relative_to(ROOT)}: no link leads here" for page in unreachable(docs)]
    print(*wrong, sep="\n", end="\n" if wrong else "")
    if wrong:
        sys.exit(f"{len(wrong)} places are wrong")


if __name__ == "__main__":
    main()
