"""What can be wrong with what a simulation is given."""


class SimulationError(Exception):
    """Root of the simulation's errors; ``remedy`` says what to do about it."""

    def __init__(self, message: str, *, remedy: str) -> None:
        super().__init__(f"{message} {remedy}")
        self.remedy = remedy


class TraceError(SimulationError):
    """A trace cannot be read; ``line`` counts from 1, None where no single line is at fault."""

    def __init__(self, message: str, *, remedy: str, line: int | None = None) -> None:
        super().__init__(message if line is None else f"line {line}: {message}", remedy=remedy)
        self.line = line


class CapacityError(SimulationError):
    """A capacity is not a number of pages or a share of the footprint."""


class RoutingError(SimulationError):
    """There is no such routing policy, or no number of replicas to route over."""
