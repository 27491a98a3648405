"""The scheduler: which tokens of which sequences a step computes. It holds no tensor."""

from promptcache_engine.scheduler.plan import Chunk, StepPlan
from promptcache_engine.scheduler.scheduler import Scheduler
from promptcache_engine.scheduler.sequence import Sequence
from promptcache_engine.scheduler.waiting import SchedulingPolicy

__all__ = ["Chunk", "Scheduler", "SchedulingPolicy", "Sequence", "StepPlan"]
