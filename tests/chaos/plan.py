"""The events of a run, drawn from its seed: what happens when, and to which server
first. The same seed and length make the same plan."""

import dataclasses
import random

LEAST_S, MOST_S = 2, 10  # between events
# Kind: its share of the deck that follows the first, which has one of each.
WEIGHTS = {"kill": 30, "sigterm": 2, "stop": 4, "restart": 2, "certificate": 3,
           "token": 3, "new_version": 3, "broken_version": 2, "rollback": 2,
           "proxy_reload": 2, "burst": 3}
ON_A_SERVER = ("kill", "sigterm", "stop", "restart")


@dataclasses.dataclass(frozen=True)
class Event:
    at: float
    kind: str
    order: tuple  # of servers: the first that may be hit is
    seconds: float  # a stop, a burst, a broken version or a time down lasts
    kills: bool  # a stopped server, in place of letting it go on

    def __str__(self):
        return f"{self.at:7.2f} {self.kind} order={self.order}"


def make_plan(seed, seconds, kinds=tuple(WEIGHTS), servers=3):
    """Returns the events of a run, by time. The last ones leave time to recover."""
    rng = random.Random(seed)
    deck = list(kinds)
    rng.shuffle(deck)
    events, at = [], 0.0
    while True:
        # Nearer to the least than to the most: more kills in the same time.
        at += rng.triangular(LEAST_S, MOST_S, LEAST_S)
        if at > seconds - 1:
            return events
        if not deck:
            deck = [kind for kind in kinds for _ in range(WEIGHTS[kind])]
            rng.shuffle(deck)
        order = list(range(servers))
        rng.shuffle(order)
        events.append(Event(round(at, 2), deck.pop(), tuple(order),
                            round(rng.uniform(1, 5), 2), rng.random() < 0.5))
