"""check.py LINES: reads lines as Datadog's preprocessing of JSON does, and checks the logs against
the models of Datadog's own client. `check.py --names` prints the names that the preprocessing
reads."""

import datetime
import json
import sys

from datadog_api_client.exceptions import ApiTypeError
from datadog_api_client.model_utils import validate_and_convert_types
from datadog_api_client.v2.model.http_log_item import HTTPLogItem
from datadog_api_client.v2.model.log_attributes import LogAttributes

# https://docs.datadoghq.com/logs/log_configuration/pipelines/#preprocessing: the first attribute of
# each list that a log has is the reserved attribute.
SOURCES = {
    "timestamp": [
        "@timestamp", "timestamp", "_timestamp", "Timestamp", "eventTime", "date", "published_date",
        "syslog.timestamp",
    ],
    "host": ["host", "hostname", "syslog.hostname"],
    "message": ["message", "msg", "log"],
    "service": ["service", "syslog.appname", "dd.service"],
    "status": ["status", "severity", "level", "syslog.severity"],
    "source": ["ddsource", "source"],
    "tags": ["ddtags"],
    "trace_id": ["dd.trace_id", "contextMap.dd.trace_id", "named_tags.dd.trace_id", "trace_id"],
    "span_id": ["dd.span_id", "contextMap.dd.span_id", "named_tags.dd.span_id", "span_id"],
}
# https://docs.datadoghq.com/logs/log_configuration/attributes_naming_convention/: the standard
# attributes of source code.
STANDARD = {
    "logger.name": str,
    "logger.thread_name": str,
    "error.kind": str,
    "error.message": str,
    "error.stack": str,
}
STATUSES = {"critical", "error", "warn", "info", "debug", "trace"}
PARTS = STANDARD.keys() | {"timestamp", "status", "message", "dd.trace_id", "dd.span_id"}
# The preset sets none of these: a record that has one took it from a field.
NOT_SET = ["host", "service", "source", "tags"]
# Lines that the check must refuse.
CONTROLS = [
    '{"timestamp":"2026-01-01T00:00:00Z","status":"info","message":{"a":1}}',
    '{"timestamp":"2026-01-01T00:00:00Z","status":"200","message":"m"}',
    '{"timestamp":"yesterday","status":"info","message":"m"}',
    '{"timestamp":"2026-01-01T00:00:00Z","status":"info","message":"m","host":"x"}',
    '{"timestamp":"2026-01-01T00:00:00Z","status":"info","message":"m","syslog":{"hostname":"x"}}',
    '{"timestamp":"2026-01-01T00:00:00Z","status":"info","message":"m","error.stack":1}',
    '{"timestamp":"2026-01-01T00:00:00Z","status":"info","message":"m","status.code":1}',
    '{"timestamp":"2026-01-01T00:00:00Z","status":"info","message":"m","logger.name":"x","logger":1}',
    '{"timestamp":"2026-01-01T00:00:00Z","status":"info","message":"m","message":"n"}',
]


class Refused(Exception):
    pass


def once(pairs):
    members = dict(pairs)
    if len(members) < len(pairs):
        raise Refused("a key stands twice")
    return members


def at(log, path):
    """Returns the value at a path: Datadog expands dotted keys to objects."""
    if path in log:
        return log[path]
    for end in range(len(path)):
        if path[end] == "." and isinstance(log.get(path[:end]), dict):
            found = at(log[path[:end]], path[end + 1 :])
            if found is not None:
                return found
    return None


def check(line):
    log = json.loads(line, object_pairs_hook=once)
    # What a client sends. A log without a message is one with an empty message.
    item = {"message": "", **log}
    validate_and_convert_types(item, (HTTPLogItem,), ["log"], True, True)
    reserved = {}
    for name, sources in SOURCES.items():
        found = [at(log, source) for source in sources]
        found = [value for value in found if value is not None]
        if found:
            reserved[name] = found[0]
    for name in NOT_SET:
        if name in reserved:
            raise Refused(f"a field became the log's {name}")
    for name in ("timestamp", "status"):
        if name not in reserved:
            raise Refused(f"no {name}")
    if reserved["status"] not in STATUSES:
        raise Refused(f"the status {reserved['status']!r}")
    for name in ("trace_id", "span_id"):
        if not isinstance(reserved.get(name, ""), str):
            raise Refused(f"{name} is no text")
    LogAttributes(
        attributes=log,
        message=reserved.get("message", ""),
        status=reserved["status"],
        timestamp=datetime.datetime.fromisoformat(reserved["timestamp"].replace("Z", "+00:00")),
    )
    for name, of_type in STANDARD.items():
        value = at(log, name)
        if value is not None and not isinstance(value, of_type):
            raise Refused(f"{name} is {value!r}")
    # A part is a value, and not an object too.
    for part in PARTS & log.keys():
        for key in log:
            if key.startswith(part + ".") or part.startswith(key + "."):
                raise Refused(f"{key!r} beside {part!r}")


def refusal(line):
    try:
        check(line)
    except (Refused, ApiTypeError, TypeError, ValueError) as problem:
        return str(problem)
    return None


def main():
    if sys.argv[1] == "--names":
        names = {source for sources in SOURCES.values() for source in sources} | STANDARD.keys()
        paths = {name[:end] for name in names for end in range(len(name)) if name[end] == "."}
        print("\n".join(sorted(names | paths | HTTPLogItem.attribute_map.keys())))
        return 0
    for control in CONTROLS:
        if refusal(control) is None:
            print(f"accepted {control}")
            return 1
    lines, refused = 0, 0
    with open(sys.argv[1], encoding="utf-8") as file:
        # A line ends at a line feed alone.
        for line in file.read().split("\n")[:-1]:
            lines += 1
            problem = refusal(line)
            if problem is not None:
                refused += 1
                if refused <= 20:
                    print(f"{problem[:300]}: {line[:300]}")
    print(f"{lines} lines, {refused} refused")
    return 0 if lines and not refused else 1


sys.exit(main())
