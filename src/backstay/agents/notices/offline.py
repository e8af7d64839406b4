"""`BACKSTAY_NO_NETWORK`: nothing is sent to another machine while it is set. Source: SPEC L6, B24."""

from __future__ import annotations

import os
from ipaddress import ip_address

from backstay.agents.notices.note import NoticeError

NO_NETWORK = "BACKSTAY_NO_NETWORK"


def check_network(host: str) -> None:
    """Check that a notice may be sent to a host.

    Raises:
        NoticeError: code `notice.no_network`, where the variable is set and the host is not this machine.
    """
    if os.environ.get(NO_NETWORK, "0") not in ("", "0") and not _is_this_machine(host):
        told = f"{NO_NETWORK} is set, so nothing was sent to {host}; only this machine may be told"
        raise NoticeError(told, code="notice.no_network")


def _is_this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
