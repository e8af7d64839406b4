"""For the tests of users: what a run has called and what was refused, stable pictures of runs, a clock that stands.

`pytest_plugins = ["backstay.testing.fixtures"]` in a conftest brings fixtures; nothing here needs pytest.
Source: SPEC G12.
"""

from backstay.testing.asserting import assert_called, assert_not_called, assert_refused
from backstay.testing.clock import FakeClock
from backstay.testing.pictures import picture

__all__ = ["FakeClock", "assert_called", "assert_not_called", "assert_refused", "picture"]
