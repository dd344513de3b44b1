"""What went wrong with a request, as a `ModelError`: the kind, the status, whether to try again."""

import functools
import os
import re
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar, cast

from rollgrid.errors import ModelError
from rollgrid.models.retry import parse_retry_after

_KEY = re.compile(r"\b(sk|rk|sess|pk)-[A-Za-z0-9_\-*]{4,}")
_BEARER = re.compile(r"(?i)(bearer\s+|api[-_]?key[\"'=:\s]+)[A-Za-z0-9_\-.*]{8,}")

_TRANSPORTS = {"httpx2", "httpcore2", "httpx", "httpcore", "aiohttp", "anyio", "ssl"}
_TERMINAL = {"auth", "quota", "unknown_model", "bad_request"}


def mask(text: str) -> str:
    """The text without anything that looks like a key."""
    return _BEARER.sub(r"\1***", _KEY.sub(r"\1-***", text))


def missing_key() -> ModelError:
    return ModelError("no API key: set OPENAI_API_KEY, or pass api_key= or base_url=", kind="auth")


def bad_address(url: str) -> ModelError:
    return ModelError(f"base_url must begin with http:// or https://, got {url!r}", kind="bad_request")


def protocol(what: str) -> ModelError:
    """A reply that is not what the API promises. It may well be a fault in passing."""
    return ModelError(mask(what), kind="protocol", retryable=True)


def too_long(what: str) -> ModelError:
    """A reply that does not end. To ask for it again would only bring it again."""
    return ModelError(f"the server sent {what}", kind="protocol")


P = ParamSpec("P")
T = TypeVar("T")


def shaped(parse: Callable[P, T]) -> Callable[P, T]:
    """Make a parser of replies raise a `ModelError` when a reply is not of the shape that the API promises."""

    @functools.wraps(parse)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return parse(*args, **kwargs)
        except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
            raise protocol(f"the reply has an unexpected shape: {type(error).__name__}: {error}") from error

    return guarded


def from_exception(error: Exception) -> ModelError:
    """The error of a request that the openai client or its transport raised."""
    import openai

    if isinstance(error, openai.APIStatusError):
        return from_status(error.status_code, error.response.headers, error.body)
    if isinstance(error, openai.OpenAIError) and not isinstance(error, openai.APIError):
        # The client refuses to be made or to send: nearly always credentials.
        return ModelError(mask(_text(error)), kind="auth")
    if isinstance(error, openai.APIConnectionError) or _is_of_transport(error):
        return _from_transport(error)
    return ModelError(f"{type(error).__name__}: {mask(_text(error))}", kind="other")


def _is_of_transport(error: Exception) -> bool:
    return isinstance(error, OSError) or type(error).__module__.partition(".")[0] in _TRANSPORTS


def _from_transport(error: Exception) -> ModelError:
    chain = _chain(error)
    names = {kind.__name__ for one in chain for kind in type(one).__mro__}
    said = mask(_text(chain[-1]))
    request = getattr(error, "request", None)
    where = f" to {request.url.scheme}://{request.url.netloc.decode()}" if request is not None else ""
    if names & {"SSLCertVerificationError", "ClientConnectorCertificateError"}:
        return ModelError(f"the server's certificate is not trusted: {said}", kind="connection")
    if names & {"UnsupportedProtocol", "InvalidURL"}:
        return ModelError(f"the address cannot be asked: {said}", kind="bad_request")
    if names & {"ClientPayloadError", "ReadError", "RemoteProtocolError", "IncompleteRead"}:
        return ModelError("the connection broke in the middle of the answer", kind="connection", retryable=True)
    # The aiohttp transport calls every broken connection a timeout, so what is underneath decides.
    is_broken = any("Connect" in name or name == "OSError" for name in _own_names(chain[-1]))
    if isinstance(chain[-1], TimeoutError) or (not is_broken and any("Timeout" in name for name in names)):
        return ModelError("the server did not answer in time", kind="timeout", retryable=True)
    return ModelError(f"connection{where} failed: {said}", kind="connection", retryable=True)


def _own_names(error: BaseException) -> set[str]:
    return {kind.__name__ for kind in type(error).__mro__}


def from_status(status: int, headers: Mapping[str, str], body: Any) -> ModelError:
    """The error that an HTTP status of 300 or more stands for."""
    message, code, kind_name = _parts(body)
    retry_after = parse_retry_after(headers.get("retry-after-ms"), headers.get("retry-after"))
    kind = _kind(status, code, kind_name, message)
    retryable = kind not in _TERMINAL and (status in (408, 409, 429) or status >= 500)
    wish = headers.get("x-should-retry")
    if kind not in _TERMINAL and wish in ("true", "false"):
        retryable = wish == "true"
    shown = mask(f"HTTP {status}: {message}" if message else f"HTTP {status}")
    return ModelError(shown, kind=kind, status=status, retryable=retryable, retry_after=retry_after, code=code)


def from_payload(body: Any) -> ModelError:
    """The error that a reply carries inside: a failed response, an error event in a stream."""
    message, code, kind_name = _parts(body)
    # Routers that answer 200 before they know put the status of whoever stands behind them into the code.
    status = int(code) if code is not None and code.isascii() and code.isdecimal() and len(code) == 3 else None
    if status is not None and not 400 <= status <= 599:
        status = None
    kind = _kind(status, code, kind_name, message)
    shown = mask(message or "the model failed without saying why")
    retryable = kind in ("rate_limit", "server", "timeout")
    return ModelError(shown, kind=kind, status=status or _STATUS.get(kind), retryable=retryable, code=code)


_STATUS = {"rate_limit": 429, "auth": 401, "server": 500}
_EXHAUSTED = {"insufficient_quota", "billing_hard_limit_reached"}


def _kind(status: int | None, code: str | None, kind_name: str | None, message: str) -> str:
    # Some say it in no field of its own. "Quota exceeded" alone may be one of requests a minute, which comes back.
    said = {text.lower() for text in (code, kind_name, message) if text}
    if status == 402 or said & _EXHAUSTED:
        return "quota"
    if code == "model_not_found" or (status == 404 and "model" in message.lower()):
        return "unknown_model"
    if status in (401, 403) or code in ("invalid_api_key", "unsupported_country_region_territory"):
        return "auth"
    if status == 429 or code in ("rate_limit_exceeded", "rate_limit", "too_many_requests"):
        return "rate_limit"
    if status == 408 or code == "timeout":
        return "timeout"
    if status is None:
        return "bad_request" if kind_name == "invalid_request_error" or (code or "").startswith("invalid") else "server"
    if status == 409 or status >= 500:
        return "server"
    return "bad_request" if status >= 400 else "protocol"


def _parts(body: Any) -> tuple[str, str | None, str | None]:
    """Message, code and type of an error object, wherever the server put them."""
    found = _innermost(body)
    if not isinstance(found, Mapping):
        return _one_line(str(found)) if found else "", None, None
    inner = cast("Mapping[str, Any]", found)
    message = inner.get("message") or inner.get("detail") or ""
    code, kind_name = inner.get("code"), inner.get("type")
    return (
        _one_line(str(message)),
        None if code is None else str(code),
        None if kind_name is None else str(kind_name),
    )


def _innermost(body: Any) -> Any:
    """What the envelopes hold that servers, and proxies before them, put around an error."""
    for _ in range(_ENVELOPES):
        within = _within(body)
        if within is None:
            break
        body = within
    return body


def _within(body: Any) -> Any:
    if isinstance(body, list):
        return next(iter(cast("list[Any]", body)), None)
    if not isinstance(body, Mapping):
        return None
    around = cast("Mapping[str, Any]", body)
    found: Any = around.get("error") or around.get("errors")
    if not found and isinstance(around.get("detail"), Mapping):
        found = around["detail"]
    return cast("Any", found) if found and isinstance(found, Mapping | list | str) else None


_ENVELOPES = 8


def _one_line(text: str, limit: int = 500) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[:limit] + "..."


def _chain(error: BaseException) -> list[BaseException]:
    """The error and its causes; the last knows most."""
    chain = [error]
    while (cause := chain[-1].__cause__) is not None and len(chain) < 10:
        chain.append(cause)
    return chain


def _text(error: BaseException) -> str:
    if isinstance(error, OSError) and error.errno is not None:
        return os.strerror(error.errno) if error.errno > 0 else str(error.strerror)
    return _one_line(str(error)) or type(error).__name__
