"""# Clock in the prefix

## What it does
Finds the current time in the part of a prompt that should stay the same from request to request.

## Why is this bad?
A prompt cache matches from the first character on. A time that is written into the system prompt changes
with every second or minute, so everything behind it, the conversation included, is computed and paid anew.

## Example
```python
from datetime import datetime

def system_prompt():
    now = datetime.now().strftime("%Y-%m-%d %H:%M")
    return f"You are the clerk of a hotel. It is {now}. Answer in two sentences."
```
```jinja
You are the clerk of a hotel.
The time is {{ now().strftime("%H:%M") }}.
Answer in two sentences.
```

## Use instead
Tell the time in the newest message, where everything is new anyway.
```python
from datetime import datetime

SYSTEM = "You are the clerk of a hotel. Answer in two sentences."

def turn(question):
    return {"role": "user", "content": f"{question}\\n(asked at {datetime.now():%H:%M})"}
```
"""

from __future__ import annotations

from promptcache_lint.findings import Severity
from promptcache_lint.prompts import Mark, Stability
from promptcache_lint.rule import Sign, SignRule

_CLOCK = Mark("PC101", Severity.ERROR, Stability.TURN, plain=True)


class ClockInPrefix(SignRule):
    """PC101."""

    code = "PC101"
    what = "The clock"
    signs = (
        Sign(
            _CLOCK,
            python=(
                "datetime.datetime.now",
                "datetime.datetime.today",
                "datetime.datetime.utcnow",
                "time.time",
                "time.time_ns",
                "time.monotonic",
                "time.monotonic_ns",
                "time.perf_counter",
                "time.perf_counter_ns",
                "time.process_time",
                "time.ctime",
                "time.asctime",
                "time.localtime",
                "time.gmtime",
                "time.strftime",
                "arrow.now",
                "arrow.utcnow",
                "pendulum.now",
                "pandas.Timestamp.now",
                "pandas.Timestamp.utcnow",
                "pandas.Timestamp.today",
                "django.utils.timezone.now",
                "django.utils.timezone.localtime",
                "whenever.Instant.now",
                "email.utils.formatdate",
                "email.utils.localtime",
            ),
            names=(
                (
                    r"(?:the_)?(?:current|actual|present|local|system|server|utc|request|prompt|today_s|real)?_?"
                    r"(?:now|date_?time|date_and_time|date_time_now|time_?stamp|time_now|time_of_day|clock)"
                    r"(?:_(?:utc|iso|str|string|text|local|iso8601|formatted|ms))?"
                ),
                (
                    r"(?:the_)?(?:current|local|system|server|utc|present|real|machine)_?time"
                    r"(?:_(?:utc|iso|str|string|text|of_day|in_utc|formatted))?"
                ),
                r"time|utc_?now|now_(?:utc|iso|str|ms|local)|get_(?:current_)?(?:date_?)?(?:time|now)(?:stamp)?",
                r"strftime_now",  # of chat templates; what its format leaves out is seen to by the reader
                r"time_?since.*|unix_?time|epoch_?(?:time|seconds|ms)?|iso_?time|idle_duration",
            ),
        ),
    )
