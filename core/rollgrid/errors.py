"""Errors that a person sees as one line."""


class RollgridError(Exception):
    """What happened, where, and what to do, in one line fit for a terminal.

    `hint` says what to do about it; front ends print it after the message. `exit_code` is what a command ends with:
    2 for usage or bad input, 3 for a run that says nothing (see the exit codes in docs/commands.md).
    """

    exit_code = 2

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class LogError(RollgridError):
    """The log cannot be opened, read or written."""


class EnvironmentLoadError(RollgridError):
    """The file or module that should hold an Environment does not give one."""


class RunError(RollgridError):
    """A run cannot be started, resumed or found."""


class ModelError(Exception):
    """A model call that gave no usable reply.

    `status` is the HTTP status where there was one. `kind` is a stable word for clustering and display:
    `auth`, `quota`, `rate_limit`, `unknown_model`, `bad_request`, `server`, `connection`, `timeout`, `protocol`
    (a reply that is not what the API promises), `other`. `retryable` says whether the same request may succeed later;
    `retry_after` is the server's own wish in seconds.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: str = "other",
        status: int | None = None,
        retryable: bool = False,
        retry_after: float | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = status
        self.retryable = retryable
        self.retry_after = retry_after
        self.code = code
