"""ferry_batch computes the rows of files by a model that a server has."""

VERSION = "0.1.0"
