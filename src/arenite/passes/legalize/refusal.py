"""Why a node cannot be said in the core dialect."""


class RefusedError(Exception):
    """A node has no counterpart: what was expected and found, without the node's name."""
