"""Posts alerts as JSON to an address of the operator's choice, from a thread of its own.

Nothing waits for it: what does not fit into its short queue, or is refused, is counted and let go. An alert
holds names, codes and counts, no text of a prompt.
"""

from __future__ import annotations

import json
import logging
import queue
import threading
import urllib.request
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_CAPACITY = 64
_TIMEOUT_S = 5.0
_log = logging.getLogger(__name__)


class Webhook:
    """One address.

    Args:
        url: where alerts are posted; http or https, as `alert_settings` has seen to.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._queue: queue.Queue[bytes | None] = queue.Queue(_CAPACITY)
        self._thread: threading.Thread | None = None
        self.dropped = 0

    def start(self) -> None:
        """Start the thread."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="promptcache-alerts", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Post what is queued, within the time one post may take, and end the thread."""
        if self._thread is None:
            return
        try:
            self._queue.put_nowait(None)
        except queue.Full:
            return  # the thread ends with the process
        self._thread.join(_TIMEOUT_S)
        self._thread = None

    def post(self, alert: Mapping[str, Any]) -> None:
        """Queue an alert; never waits."""
        try:
            self._queue.put_nowait(json.dumps(dict(alert)).encode())
        except queue.Full:
            self.dropped += 1

    def _run(self) -> None:
        while (body := self._queue.get()) is not None:
            request = urllib.request.Request(  # noqa: S310 - http or https, by the operator's own choice
                self._url, body, {"content-type": "application/json"}, method="POST"
            )
            try:
                with urllib.request.urlopen(request, timeout=_TIMEOUT_S):  # noqa: S310 - as above
                    pass
            except OSError as error:
                self.dropped += 1
                _log.warning("alert: the webhook did not take it: %s", type(error).__name__)
