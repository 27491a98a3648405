"""How many CPU cores this process may use: physical ones, within its affinity and its container's quota.

Torch counts the machine's cores; a container's share may be smaller.
"""

import math
import os
from pathlib import Path

_CPUS = Path("/sys/devices/system/cpu")
_CGROUP = Path("/sys/fs/cgroup")


def usable_cores(cpus: Path = _CPUS, cgroup: Path = _CGROUP) -> int | None:
    """Return the number of cores, at least 1; None where this system does not say.

    Args:
        cpus: the kernel's description of the processors.
        cgroup: the process's control group.
    """
    try:
        allowed = os.sched_getaffinity(0)
    except AttributeError:  # not Linux
        return None
    cores = len({_siblings(cpus / f"cpu{index}", index) for index in allowed})
    quota = _quota(cgroup)
    return max(1, cores if quota is None else min(cores, math.ceil(quota)))


def _siblings(cpu: Path, index: int) -> str:
    """What all hardware threads of one core have in common."""
    try:
        return (cpu / "topology" / "thread_siblings_list").read_text(encoding="ascii").strip()
    except OSError:
        return str(index)


def _quota(cgroup: Path) -> float | None:
    """Processors that the container may keep busy on average; None without a limit."""
    try:
        limit, period = (cgroup / "cpu.max").read_text(encoding="ascii").split()
        return None if limit == "max" else int(limit) / int(period)
    except (OSError, ValueError):
        pass
    try:
        limit = (cgroup / "cpu" / "cpu.cfs_quota_us").read_text(encoding="ascii").strip()
        period = (cgroup / "cpu" / "cpu.cfs_period_us").read_text(encoding="ascii").strip()
        return int(limit) / int(period) if int(limit) > 0 else None
    except (OSError, ValueError):
        return None
