"""Why there is no native decode step; the torch path is complete without it."""


class NativeUnavailableError(Exception):
    """The native decode step cannot be used here.

    Attributes:
        reason: why not, in words that a log line can carry.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(f"the native decode step is not available: {reason}")
        self.reason = reason
