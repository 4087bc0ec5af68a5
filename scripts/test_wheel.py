#!/usr/bin/env python3
"""Packs a wheel for tests around a library that cargo has built: test_wheel.py LIBRARY DIRECTORY

Maturin would build the library anew, because a package alone has other features than the workspace.
"""

import platform
import sys
import tomllib
import zipfile
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
TAG = f"cp311-abi3-linux_{platform.machine()}"


def main():
    library, directory = map(Path, sys.argv[1:])
    project = tomllib.loads((TOP / "python/pyproject.toml").read_text())["project"]
    version = tomllib.loads((TOP / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    name = project["name"]
    information = f"{name}-{version}.dist-info"
    files = {
        f"{information}/METADATA": f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n",
        f"{information}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: false\n"
        f"Tag: {TAG}\n",
    }
    for path in sorted((TOP / "python" / name).iterdir()):
        if path.is_file():
            files[f"{name}/{path.name}"] = path.read_bytes()
    files[f"{name}/_native.abi3.so"] = library.read_bytes()
    record = f"{information}/RECORD"
    files[record] = "".join(f"{file},,\n" for file in [*files, record])
    directory.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(directory / f"{name}-{version}-{TAG}.whl", "w") as wheel:
        for file, content in files.items():
            wheel.writestr(file, content)


if __name__ == "__main__":
    main()
