# SPDX-License-Identifier: Apache-2.0
"""Who has an address when, by what is seen of it: no two at once, and for how long nobody."""

import bisect
from collections import namedtuple

# A holder that is asked again and again is one for as long as his silences are shorter.
SILENCE = 0.3
# Nobody takes an address so soon after another had it: he probes for it first, for 0.12 s.
CLOSE = 0.1

# One holder from when he was first seen to when he was last seen, with no long silence in between.
Stretch = namedtuple("Stretch", "name first last")
Double = namedtuple("Double", "address names begin seconds")
Gap = namedtuple("Gap", "begin end")


class Sightings:
    """Of one address; in the order of their times, but for some milliseconds."""

    def __init__(self):
        self.latest = {}  # the stretch of each name that may go on
        self.ended = []
        self.order = []  # names, each as often as it followed another

    def add(self, name, at):
        last = self.latest.get(name)
        if last and at - last.last <= SILENCE:
            self.latest[name] = last._replace(last=max(at, last.last))
        else:
            self.ended += [last] if last else []
            self.latest[name] = Stretch(name, at, at)
        if self.order[-1:] != [name]:
            self.order.append(name)

    def stretches(self):
        return sorted([*list(self.ended), *list(self.latest.values())], key=lambda stretch: stretch.first)

    def names(self, at, within=SILENCE):
        """Whom one saw shortly before."""
        return sorted(name for name, stretch in list(self.latest.items()) if at - stretch.last <= within)

    def doubles(self, address):
        """Each time that one was seen while another had it, or too soon after."""
        found, stretches = [], self.stretches()
        for index, former in enumerate(stretches):
            for later in stretches[index + 1:]:
                if later.first >= former.last + CLOSE:
                    continue
                if later.name != former.name:
                    found.append(Double(address, (former.name, later.name), later.first,
                                        max(min(former.last, later.last) - later.first, 0)))
        return found


def holder_of(address, seen, rows):
    """The one whom one sees, if he says that he has it and nobody else does; else None. A machine that woke up says
    so before it is seen, and until it knows better. `rows`: what each says of its addresses, by name."""
    says = [name for name, items in rows.items()
            if any(row["address"] == address and row["state"] == "held" for row in items)]
    return says[0] if len(says) == 1 and seen == says else None


def overlap(begin, end, gaps):
    """For how long of that time there was one of these."""
    return sum(max(min(end, gap.end) - max(begin, gap.begin), 0) for gap in gaps)


class Answers:
    """The times at which somebody who asks all the time was answered."""

    def __init__(self):
        self.times = []

    def add(self, at):
        self.times.append(at)

    def longest(self, begin, end, stalls=()):
        """The longest silence that was there at some time from begin to end: Gap; None: nothing was heard
        since. Times in which nobody asked (`stalls`) don't count: it begins later by these."""
        times = self.times
        low = max(bisect.bisect_right(times, begin) - 1, 0)
        high = bisect.bisect_left(times, end)
        if high >= len(times):
            return None
        gaps = [Gap(first + overlap(first, second, stalls), second)
                for first, second in zip(times[low:high], times[low + 1:high + 1])]
        return max(gaps, key=lambda gap: gap.end - gap.begin, default=Gap(begin, begin))
