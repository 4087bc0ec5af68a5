#!/usr/bin/env python3
"""Finds circles between the files of each crate: scripts/circles.py [CRATE...]

A file needs another one if its code, tests aside, names something that the other one defines. A
`mod` or a `pub use` alone needs nothing, and what a file re-exports is looked for where it is
defined. Prints each circle, and fails if there is one.
"""

import re
import sys
from pathlib import Path

USE = re.compile(r"^\s*(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);", re.MULTILINE)
CHILD = re.compile(r"^\s*(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*;", re.MULTILINE)
PATH = re.compile(r"\b((?:crate|super|self)(?:::\w+)+|[a-z_]\w*(?:::\w+)+)")
TESTS = "#[cfg(test)]\nmod tests"


def code(text):
    """The text without characters and strings that look like code, comments, and tests."""
    text = text.replace("'\"'", "' '")
    text = re.sub(r"//[^\n]*", "", text)
    text = re.sub(r'"(\\.|[^"\\])*"', '""', text, flags=re.DOTALL)
    return text.split(TESTS)[0]


def parts(inner):
    """What stands between the commas of a list in braces, which may hold lists."""
    depth, begin = 0, 0
    for at, letter in enumerate(inner):
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            yield inner[begin:at]
            begin = at + 1
    yield inner[begin:]


def imported(tree, before=()):
    """The paths of a `use`, each with the name under which it is known."""
    tree = tree.strip()
    if not tree:
        return
    if "{" in tree:
        head, inner = tree.split("{", 1)
        before = (*before, *filter(None, head.strip().split("::")))
        for part in parts(inner.rstrip().removesuffix("}")):
            yield from imported(part, before)
        return
    path, _, name = tree.partition(" as ")
    path = (*before, *path.strip().split("::"))
    if path[-1] == "self":
        path = path[:-1]
    yield path, name.strip() or path[-1]


class Crate:
    """The modules of a crate, by their paths, and what each needs."""

    def __init__(self, source):
        self.code = {}
        for file in source.rglob("*.rs"):
            path = file.relative_to(source).with_suffix("").parts
            if path[-1] in ("mod", "lib", "main"):
                path = path[:-1]
            self.code[path] = code(file.read_text())
        self.children = {module: set(CHILD.findall(text)) for module, text in self.code.items()}
        self.imports = {}
        self.reexports = {}
        for module, text in self.code.items():
            self.imports[module] = []
            for public, tree in USE.findall(text):
                for path, name in imported(tree):
                    path = self.absolute(module, path)
                    if path is None:
                        continue
                    if public:
                        self.reexports[module, name] = path
                    else:
                        self.imports[module].append(path)

    def absolute(self, module, path):
        """A path from the root of the crate; None if it leads out of the crate."""
        first, rest = path[0], path[1:]
        if first == "crate":
            return rest
        if first == "self":
            return (*module, *rest)
        if first == "super":
            while path and path[0] == "super":
                module, path = module[:-1], path[1:]
            return (*module, *path)
        return (*module, *path) if first in self.children[module] else None

    def defines(self, path, seen=()):
        """The module in which what has this path is defined."""
        for length in range(len(path), -1, -1):
            module = path[:length]
            if module not in self.code:
                continue
            if length < len(path):
                name = (module, path[length])
                if name in self.reexports and name not in seen:
                    return self.defines(
                        (*self.reexports[name], *path[length + 1 :]), (*seen, name)
                    )
            return module
        return ()

    def needs(self, module):
        """The other modules that the code of one names."""
        text = USE.sub("", self.code[module])
        named = (self.absolute(module, tuple(path.split("::"))) for path in PATH.findall(text))
        paths = [*self.imports[module], *(path for path in named if path is not None)]
        return {self.defines(path) for path in paths} - {module}


def circles(needs):
    """Groups of modules that all need each other (Tarjan's algorithm)."""
    index, low, stack, found = {}, {}, [], []

    def visit(module):
        index[module] = low[module] = len(index)
        stack.append(module)
        for other in needs[module]:
            if other not in index:
                visit(other)
                low[module] = min(low[module], low[other])
            elif other in stack:
                low[module] = min(low[module], index[other])
        if low[module] == index[module]:
            at = stack.index(module)
            group, stack[at:] = stack[at:], []
            if len(group) > 1:
                found.append(sorted(group))

    for module in needs:
        if module not in index:
            visit(module)
    return found


def main():
    sys.setrecursionlimit(10_000)
    crates = Path(__file__).parent.parent / "crates"
    wanted = sys.argv[1:] or sorted(crate.name for crate in crates.iterdir())
    count = 0
    for name in wanted:
        crate = Crate(crates / name / "src")
        for group in circles({module: crate.needs(module) for module in crate.code}):
            count += 1
            print(f"{name}: a circle between", ", ".join("::".join(it) or "lib" for it in group))
    if count:
        sys.exit(f"{count} circles between files: move what both need to a file of its own")


if __name__ == "__main__":
    main()
