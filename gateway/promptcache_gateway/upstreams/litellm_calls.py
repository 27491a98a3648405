"""What of a chat completion goes over to LiteLLM, and how its answers and failures are said.

LiteLLM's function takes addresses, credentials, files and callbacks as arguments beside the API's own
fields, and loads what an address in a message points to. So only fields of the API pass, named here one by
one, and nothing in them may be an address. LiteLLM itself is not imported here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from promptcache_gateway.errors import ApiError, invalid_request

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_PASSED = frozenset(
    {
        "messages", "tools", "tool_choice", "parallel_tool_calls", "max_tokens", "max_completion_tokens",
        "temperature", "top_p", "top_k", "n", "stop", "seed", "presence_penalty", "frequency_penalty",
        "logit_bias", "logprobs", "top_logprobs", "response_format", "reasoning_effort", "thinking",
        "verbosity", "modalities", "prediction", "service_tier", "user", "safety_identifier",
        "prompt_cache_key", "prompt_cache_retention", "stream",
    }
)  # fmt: skip
# Read by the gateway, or about what is kept of the request and not about its answer.
_LEFT = frozenset({"model", "stream_options", "metadata", "store"})
# LiteLLM wraps what httpx, aiohttp, botocore and others raise in its own, for some with a status it made up.
_SILENT = frozenset({"Timeout", "TimeoutError", "TimeoutException", "APITimeoutError"})
_CUT = frozenset({"APIConnectionError", "TransportError", "ClientConnectionError", "ConnectionError"})
_NO_ANSWER = (504, "did not answer in time", "upstream_timeout")
_UNREACHED = (502, "cannot be reached, or closed the connection", "upstream_unreachable")
_DEEPEST = 8
_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")
_LONGEST = 600
# What a message says, and what a part of it says: texts, in which an address is only a text.
_SAID = frozenset(
    {"content", "tool_calls", "function_call", "reasoning_content", "refusal", "thinking_blocks"}
)
_TEXTS = frozenset({"text", "thinking", "refusal"})


def parameters(payload: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call, but for its model and where it goes; streams are asked for their usage.

    Raises:
        ApiError: 400 naming a field, a tool or an address that may not go over.
    """
    asked: dict[str, Any] = {}
    for name, value in payload.items():
        if name in _PASSED:
            asked[name] = value
        elif name not in _LEFT and value is not None:
            raise _refused(name[:80], f"The field {name[:80]!r} does not go to a provider behind LiteLLM.")
    if not isinstance(asked.get("messages"), list):
        raise invalid_request("'messages' must be a list.", "messages")
    if "://" in str(payload.get("model")):
        raise _refused("model", "A model's name holds no address.")
    for index, message in enumerate(asked["messages"]):
        _check_content(message, f"messages[{index}]")
    for index, tool in enumerate(_listed(asked.get("tools"))):
        if not isinstance(tool, dict) or tool.get("type") != "function":
            raise _refused(f"tools[{index}]", "Only tools of type 'function' go over LiteLLM.")
    if asked.get("stream"):
        asked["stream_options"] = {"include_usage": True}
    return asked


def completion(answer: dict[str, Any]) -> dict[str, Any]:
    """A whole answer as the API has it: fields that are null there are null.

    Where the provider reported no usage, LiteLLM says that all of it is 0, as no prompt is: that is left out.
    """
    usage = answer.get("usage")
    if not isinstance(usage, dict) or not any(usage.get(name) for name in _COUNTS):
        answer.pop("usage", None)
    for choice in _listed(answer.get("choices")):
        choice.setdefault("finish_reason", None)
        choice.setdefault("logprobs", None)
        choice.get("message", {}).setdefault("content", None)
    return answer


def failure(error: Exception, upstream: str) -> ApiError:
    """What a caller is told of an exception of LiteLLM's, known by its name, its status and its message."""
    status = getattr(error, "status_code", None)
    if not isinstance(status, int) or not 400 <= status < 500 or type(error).__name__ in _SILENT:
        names = _names(error)
        if names & _SILENT:
            return _lost(upstream, *_NO_ANSWER)
        if names & _CUT or not isinstance(status, int) or not 400 <= status <= 599:
            return _lost(upstream, *_UNREACHED)
        said = f"The upstream {upstream} answered {status}."
        return ApiError(status, said, kind="upstream_error", code=f"upstream_{status}")
    kind, code = getattr(error, "type", None), getattr(error, "code", None)
    return ApiError(
        status,
        _message(error, upstream, status),
        kind=kind if isinstance(kind, str) else _kind(status),
        param=param if isinstance(param := getattr(error, "param", None), str) else None,
        code=code if isinstance(code, str) and not code.isdigit() else f"upstream_{status}",
        retry_after=_retry_after(error),
    )


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An exception and those it was raised from."""
    one: BaseException | None = error
    for _ in range(_DEEPEST):
        if one is None:
            return
        yield one
        one = one.__cause__ or one.__context__


def _names(error: BaseException) -> set[str]:
    """The names of an exception's classes and of those it was raised from."""
    return {kind.__name__ for one in _chain(error) for kind in type(one).__mro__}


def _lost(upstream: str, status: int, what: str, code: str) -> ApiError:
    return ApiError(status, f"The upstream {upstream} {what}.", kind="upstream_error", code=code)


def _message(error: Exception, upstream: str, status: int) -> str:
    """The first line of its message: LiteLLM may put its own stack behind."""
    said = str(getattr(error, "message", "")).partition("\n")[0].strip()[:_LONGEST]
    return said or f"The upstream {upstream} answered {status}."


def _kind(status: int) -> str:
    known = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
    return known.get(status, "invalid_request_error")


def _retry_after(error: Exception) -> int | None:
    """The whole seconds the provider asks to wait; versions of LiteLLM keep its headers in other places."""
    for one in _chain(error):
        for headers in (getattr(getattr(one, "response", None), "headers", None), *_kept_headers(one)):
            said = headers.get("retry-after") if isinstance(headers, Mapping) else None
            if isinstance(said, str) and said.isdigit():
                return int(said)
    return None


def _kept_headers(error: BaseException) -> tuple[object, object]:
    return getattr(error, "litellm_response_headers", None), getattr(error, "headers", None)


def _check_content(message: object, path: str) -> None:
    """No address in a message outside of texts and of what is called with; raises `ApiError` 400."""
    if not isinstance(message, dict):
        raise invalid_request(f"'{path}' must be an object.", path)
    content = message.get("content")
    if content is not None and not isinstance(content, str | list):
        raise invalid_request(f"'{path}.content' must be a string or a list.", f"{path}.content")
    for index, part in enumerate(_listed(content)):
        if isinstance(part, dict):
            _check_addresses(part, f"{path}.content[{index}]")
    _check_addresses({name: value for name, value in message.items() if name not in _SAID}, path)


def _check_addresses(value: Mapping[str, Any], path: str) -> None:
    if any(map(_is_address, _strings(value))):
        raise _refused(
            path, "A provider behind LiteLLM gets images and files as data: URLs; addresses are not fetched."
        )


def _strings(value: object) -> Iterable[str]:
    """Every string in a value that is no text of a conversation."""
    found, left = [], [value]
    while left:
        one = left.pop()
        if isinstance(one, str):
            found.append(one)
        elif isinstance(one, dict):
            left.extend(
                inner for name, inner in one.items() if name not in _TEXTS or not isinstance(inner, str)
            )
        elif isinstance(one, list):
            left.extend(one)
    return found


def _is_address(text: str) -> bool:
    return "://" in text


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _refused(path: str, message: str) -> ApiError:
    return invalid_request(message, path, "unsupported_value")
