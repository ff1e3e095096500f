"""What other programs do while we measure, from /proc. Python's standard library alone."""

import os
import time
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")


def busy():
    """Seconds that all cores together were busy, time that a hypervisor gave to others included."""
    user, nice, system, _, _, interrupts, soft, steal = map(int, Path("/proc/stat").read_text().split()[1:9])
    return (user + nice + system + interrupts + soft + steal) / TICK


def used(process):
    """Seconds of processor time of a process and of its children that have ended; 0 where it is gone."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / TICK


class Others:
    """From its making on: what processes but these and this one take."""

    def __init__(self, processes):
        self.known = [*processes, os.getpid()]
        self.here = Path("/proc/stat").exists()
        self.start = self._now() if self.here else None

    def _now(self):
        return time.monotonic(), busy(), sum(map(used, self.known))

    def share(self):
        """Of all cores' time, from 0 to 1; 0 where the system does not tell."""
        if not self.here:
            return 0.0
        seconds, all_of_it, ours = (now - then for now, then in zip(self._now(), self.start))
        return min(1.0, max(0.0, (all_of_it - ours) / (max(seconds, 1 / TICK) * os.cpu_count())))
