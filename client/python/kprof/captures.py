"""What a capture asks for, as kprofd takes it: the command, where and as whom it runs, the options of its tool."""

from __future__ import annotations

import dataclasses
import difflib
import json
import os
import re
import resource
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Optional, Union

from kprof.analysis import option_name, option_text
from kprof.errors import UsageError
from kprof.v1 import runs_pb2

Words = Union[str, os.PathLike, Sequence[Union[str, bytes, os.PathLike]]]  # of a command; a str is run by sh -c
Duration = Union[int, float, str]  # seconds, or as kprofctl takes it: "500ms", "10s", "5m", "2h"

_OPTION = runs_pb2.Tool.Option
_UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}
_DURATION = re.compile(r"([0-9]+)(ms|s|m|h)")
_LIMITS = range(16)  # RLIMIT_*: Linux has so many
_MOST_LABEL_BYTES = 1024  # longer parameters are no label


@dataclasses.dataclass(frozen=True)
class ToolOption:
    """An option of a tool. `default` is text; empty: none."""

    name: str
    type: str  # "text", "integer", "number", "switch", "duration", "json"
    default: str
    meaning: str


@dataclasses.dataclass(frozen=True)
class Tool:
    """Something that measures: what it is for, whether it needs a command, the clocks of a run that asks for none, options by name."""

    name: str
    summary: str
    needs_command: bool
    clocks: str
    options: dict[str, ToolOption]

    @staticmethod
    def of(message: Any) -> Tool:
        options = {option.name: ToolOption(option.name, _OPTION.Type.Name(option.type).removeprefix("TYPE_").lower(),
                                           option.default_value, option.meaning) for option in message.options}
        return Tool(message.name, message.summary, message.needs_command, message.clocks, options)


def duration_ms(value: Optional[Duration], what: str) -> int:
    """0 for None."""
    if value is None:
        return 0
    if isinstance(value, str):
        parsed = _DURATION.fullmatch(value)
        if parsed:
            return int(parsed[1]) * _UNITS_MS[parsed[2]]
    elif not isinstance(value, bool) and 0 <= value < 1e12:
        return round(value * 1000)
    raise UsageError("usage", f"{what} {value!r} is no duration", "give seconds, or a text such as '500ms', '10s', '5m', '2h'")


def selector_of(device: Any) -> str:
    """A device as kprofd selects it: 0, "cpu", [0, 1], None for the usual one."""
    if device is None:
        return ""
    if isinstance(device, (list, tuple)):
        return ",".join(map(str, device))
    return str(device)


def argv_of(command: Optional[Words]) -> list[bytes]:
    """The words of a command. A text is one for the shell."""
    if command is None:
        return []
    if isinstance(command, str):
        return [b"/bin/sh", b"-c", os.fsencode(command)]
    if isinstance(command, os.PathLike):
        return [os.fsencode(command)]
    return [os.fsencode(word) for word in command]


def shell_line_of(command: Words) -> bytes:
    """A command as one line for sh -c."""
    if isinstance(command, str):
        return os.fsencode(command)
    return os.fsencode(shlex.join(os.fsdecode(word) for word in argv_of(command)))


def _option_value(option: ToolOption, value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if option.type == "json" and not isinstance(value, str):
        return json.dumps(value).encode()
    if option.type == "duration" and not isinstance(value, str):
        return b"%dms" % duration_ms(value, f"option {option.name}")
    if isinstance(value, os.PathLike):
        return os.fsencode(value)
    if isinstance(value, (list, tuple)):  # against=[...]; metrics=[...]
        words = [os.fsdecode(word) if isinstance(word, (bytes, os.PathLike)) else str(word) for word in value]
        return os.fsencode(shlex.join(words) if option.name == "against" else ",".join(words))
    return os.fsencode(option_text(value))


def _add_options(spec: Any, tool: Tool, options: Mapping[str, Any]) -> None:
    for given, value in options.items():
        if value is None:
            continue
        option = tool.options.get(option_name(given))
        if option is None:
            names = sorted(name.replace("-", "_") for name in tool.options)
            near = difflib.get_close_matches(given, names, 1)
            raise UsageError("usage", f"capture {tool.name}: it has no option '{given}'",
                             f"did you mean {near[0]}?" if near else f"there are {', '.join(names) or 'none'}")
        spec.options.add(name=option.name, value=_option_value(option, value))


def _add_environment(spec: Any, changes: Optional[Mapping[str, Optional[str]]]) -> None:
    environment = dict(os.environb)
    for name, value in (changes or {}).items():
        if value is None:
            environment.pop(os.fsencode(name), None)
        else:
            environment[os.fsencode(name)] = os.fsencode(value)
    for variable, setting in environment.items():
        spec.environment.add(name=variable, value=setting)


def _own_umask() -> int:
    with open("/proc/self/status", encoding="ascii", errors="replace") as status:
        for line in status:
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    return 0o022


def _add_limits(spec: Any) -> None:
    for number in _LIMITS:
        try:
            soft, hard = resource.getrlimit(number)
        except (OSError, ValueError):
            continue
        spec.limits.add(resource=number, soft=soft & (1 << 64) - 1, hard=hard & (1 << 64) - 1)  # without a limit: all bits


def _add_subject(spec: Any, labels: dict[str, str], kernel: Optional[str], version: Optional[str],
                 params: Optional[Mapping[str, Any]]) -> None:
    """What is measured, as labels by which runs are found; its parameters are also the artifact params.json."""
    for name, value in (("kernel", kernel), ("version", version)):
        if value is not None and labels.setdefault(name, str(value)) != str(value):
            raise UsageError("usage", f"capture: {name} and labels['{name}'] say different things", "give one of the two")
    if kernel is None and version is None and params is None:
        return
    text = json.dumps(dict(params or {}), separators=(",", ":"), ensure_ascii=False)
    spec.options.add(name="params", value=text.encode())
    if params is None:
        return
    if "params" in labels:
        raise UsageError("usage", "capture: params and labels['params'] are both given", "give one of the two")
    if len(text.encode()) <= _MOST_LABEL_BYTES:
        labels["params"] = text


def spec_of(tool: Tool, command: Optional[Words], *, device: Any = None, clocks: Optional[str] = None,
            timeout_s: Optional[Duration] = None, queue_timeout_s: Optional[Duration] = None,
            env: Optional[Mapping[str, Optional[str]]] = None, cwd: Optional[Union[str, os.PathLike]] = None,
            labels: Optional[Mapping[str, str]] = None, kernel: Optional[str] = None, version: Optional[str] = None,
            params: Optional[Mapping[str, Any]] = None, prepare: Optional[Words] = None, check: Optional[Words] = None,
            collect: Union[str, Iterable[str]] = (), exclusive: bool = False, cool_down_s: Optional[Duration] = None,
            priority: int = 0, shared: bool = False, options: Optional[Mapping[str, Any]] = None) -> Any:
    """A RunSpec, but for its session, its baseline and whether it is attached. Client.capture says what each means."""
    spec = runs_pb2.RunSpec(tool=tool.name, argv=argv_of(command), cwd=os.path.join(os.getcwdb(), os.fsencode(cwd or b".")),
                            device=selector_of(device), clocks=clocks or "", priority=priority, shared=shared,
                            exclusive=exclusive, umask=_own_umask())
    spec.cwd = os.path.normpath(spec.cwd)
    spec.timeout_ms = duration_ms(timeout_s, "timeout_s")
    spec.queue_timeout_ms = duration_ms(queue_timeout_s, "queue_timeout_s")
    spec.cool_down_ms = duration_ms(cool_down_s, "cool_down_s")
    _add_environment(spec, env)
    _add_limits(spec)
    all_labels = {str(name): str(value) for name, value in (labels or {}).items()}
    _add_subject(spec, all_labels, kernel, version, params)
    spec.labels.update(all_labels)
    _add_options(spec, tool, options or {})
    spec.prepare = shell_line_of(prepare) if prepare is not None else b""
    spec.check = shell_line_of(check) if check is not None else b""
    spec.collect.extend(os.fsencode(glob) for glob in ([collect] if isinstance(collect, str) else collect))
    return spec
