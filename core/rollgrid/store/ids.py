"""Short names for runs."""

import secrets

_LETTERS = "bcdfghjkmnpqrstvwxyz"
ALPHABET = "23456789" + _LETTERS
"""No vowels, so that no word comes out by chance; nothing that looks like something else (0, 1, l)."""

LENGTH = 6


def new_run_id() -> str:
    """A name to type: six characters, the first a letter, out of 344 million.

    It is unique only by chance. `LogWriter.new_run_id` gives one that its log does not hold yet.
    """
    return secrets.choice(_LETTERS) + "".join(secrets.choice(ALPHABET) for _ in range(LENGTH - 1))
