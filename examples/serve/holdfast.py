"""Reports and asks from a program that holdfast serve runs. Copy it beside your program."""

import json
import os

_out = os.fdopen(3, "w", buffering=1)
_in = os.fdopen(4, "r")


def say(**message):
    """Writes one message, such as say(status="Waits for the printer")."""
    _out.write(json.dumps(message) + "\n")


def progress(done, total=None, message=None):
    say(progress=done, total=total, message=message)


def log(text, level="info", data=None):
    say(log=text, level=level, data=data)


def result(value):
    """Is the result, in place of what the program prints."""
    say(result=value)


def ask(key, message, schema=None):
    """Asks the user. Returns what they filled in, or None if they declined."""
    say(ask=key, message=message, schema=schema or {})
    for line in _in:
        answer = json.loads(line)
        if answer["ask"] == key:  # an answer to an earlier question may come twice
            return answer.get("content", {}) if answer["action"] == "accept" else None
