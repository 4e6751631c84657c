"""Mutation is a mistake that scripts/mutate.py plants: a text that stands once in
its file, and what replaces it."""

import typing


class Mutation(typing.NamedTuple):
    path: str
    what: str  # the mistake, in words
    old: str
    new: str
