"""Hit rates of the cache on a recorded trace, beside what no policy can beat. Loads no torch."""

from promptcache_engine.simulate.errors import RoutingError, TraceError
from promptcache_engine.simulate.fleet import FleetResult, Router, play
from promptcache_engine.simulate.fleet_report import FleetReport, FleetRow, simulate_fleet
from promptcache_engine.simulate.optimum import optimum
from promptcache_engine.simulate.readers import read_trace
from promptcache_engine.simulate.replay import endless, replay
from promptcache_engine.simulate.report import Capacity, Report, Row, simulate
from promptcache_engine.simulate.trace import Trace, TraceRequest

__all__ = [
    "Capacity",
    "FleetReport",
    "FleetResult",
    "FleetRow",
    "Report",
    "Router",
    "RoutingError",
    "Row",
    "Trace",
    "TraceError",
    "TraceRequest",
    "endless",
    "optimum",
    "play",
    "read_trace",
    "replay",
    "simulate",
    "simulate_fleet",
]
