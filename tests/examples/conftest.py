"""The examples are imported from the repository, and run in a folder of their own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cli.command import ROOT, Command

if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))


@pytest.fixture
def backstay(tmp_path: Path) -> Command:
    return Command(tmp_path)
