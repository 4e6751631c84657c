"""The ledger counts each request once by its outcome, and holds each answer against
what was asked. Every request has a number and rows that no other has."""

import collections

import numpy as np

BASE = 4096  # numbers below BASE * BASE have rows of their own, exact in fp32
MOST_TOLD = 40


def rows_of(number, rows, width):
    """Returns whole numbers below BASE; the first two are the request's number."""
    made = np.random.default_rng(number).integers(0, BASE, (rows, width))
    made[:, 0], made[:, 1] = divmod(number, BASE)
    made[:, 2] = np.arange(rows)
    return made.astype(np.float32)


class Ledger:
    """For one thread. `clock` tells the moment of what goes wrong."""

    def __init__(self, clock=lambda: 0.0):
        self._clock = clock
        self.open = set()  # without an outcome
        self._answered = set()  # the numbers that answers named
        self.sent = 0
        self.outcomes = collections.Counter()
        self.twice = 0
        self.wrong = 0
        self.told = []  # of what was not OK

    def ask(self, number):
        assert number not in self.open
        self.open.add(number)
        self.sent += 1

    def settle(self, number, code, text=""):
        """Counts the outcome of a request, which has one."""
        if number not in self.open:
            self.twice += 1
            self._tell(number, "TWICE", code)
            return
        self.open.remove(number)
        self.outcomes[code] += 1
        if code != "OK":
            self._tell(number, code, text)

    def answer(self, number, reply_id, expected, got):
        """Counts an answer: `reply_id` is the number that it names, as text."""
        if reply_id in self._answered:
            self.twice += 1
            self._tell(number, "TWICE", f"an answer to {reply_id} came before")
        self._answered.add(reply_id)
        if reply_id != str(number) or not np.array_equal(expected, got):
            self.wrong += 1
            self._tell(number, "WRONG", f"the answer names {reply_id!r}")
        self.settle(number, "OK")

    @property
    def lost(self):
        """Requests without an outcome, or with none but the client's own clock."""
        return len(self.open) + self.outcomes["DEADLINE_EXCEEDED"]

    @property
    def failed(self):
        return self.sent - self.outcomes["OK"]

    def counts(self):
        return {"sent": self.sent, "lost": self.lost, "twice": self.twice,
                "wrong": self.wrong, "outcomes": dict(self.outcomes),
                "ok_ratio": self.outcomes["OK"] / max(self.sent, 1)}

    def complaints(self, least_ok_ratio):
        """Returns what is not as promised, one line each."""
        found = [f"{value} {name}" for name, value in
                 (("lost", self.lost), ("answered twice", self.twice),
                  ("wrong rows", self.wrong)) if value]
        if not self.sent:
            found.append("nothing was sent")
        elif self.outcomes["OK"] < least_ok_ratio * self.sent:
            found.append(f"{self.outcomes['OK']} of {self.sent} are OK, expected "
                         f"{least_ok_ratio:.2%}")
        return found

    def _tell(self, number, code, text):
        if len(self.told) < MOST_TOLD:
            self.told.append({"at": round(self._clock(), 2), "request": number,
                              "code": code, "text": text[:300]})
