"""What all tests share."""

import os
import shutil

import pytest


@pytest.fixture(scope="session")
def unjank():
    """The command: the one that UNJANK names, or that on the path."""
    command = os.environ.get("UNJANK") or shutil.which("unjank")
    assert command, "the command unjank is missing: set UNJANK"
    return command
