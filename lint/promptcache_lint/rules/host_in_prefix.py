"""# Host, environment or working directory in the prefix

## What it does
Finds what differs between machines, processes and folders (host name, process id, working and temporary
directories, login name, the environment) in the part of a prompt that should stay the same.

## Why is this bad?
Replicas of one service stop sharing a cache, and each restart or each folder begins a new prefix. A
process that runs alone keeps hitting, so this is a warning. Where nothing static stands behind it, or a
clock in front of it and little behind, it costs nothing more: that is information.

## Example
```python
import os
import socket

def system_prompt():
    return f"Host: {socket.gethostname()}, folder: {os.getcwd()}\\nYou are a coding agent. Run tests."
```
```text
You work in {cwd}.
You are a coding agent. Run the tests first.
```

## Use instead
```python
import os

SYSTEM = "You are a coding agent. Run the tests first."

def first_turn(task):
    return {"role": "user", "content": f"{task}\\n\\nWorking directory: {os.getcwd()}"}
```
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_lint.exposure import exposed_holes
from promptcache_lint.findings import Severity
from promptcache_lint.prompts import Mark, Stability
from promptcache_lint.rule import Sign, SignRule

if TYPE_CHECKING:
    from promptcache_lint.exposure import Exposed
    from promptcache_lint.findings import Finding
    from promptcache_lint.prompts import Prompt, Trait

_NAME_OF_THING = re.compile(r"\W*(?:\w+\.)*(?:node|container|instance|pod)\.name\W*")
_ENOUGH_TOKENS = 100
_ELSEWHERE = re.compile(r"container|docker|sandbox", re.IGNORECASE)


class HostInPrefix(SignRule):
    """PC105."""

    code = "PC105"
    what = "A fact of the machine or process"
    signs = (
        Sign(
            Mark("PC105", Severity.WARNING, Stability.PROCESS),
            python=(
                "socket.gethostname",
                "socket.getfqdn",
                "platform.node",
                "platform.uname",
                "os.uname",
                "os.getpid",
                "os.getppid",
                "os.getcwd",
                "os.getlogin",
                "pathlib.Path.cwd",
                "getpass.getuser",
                "threading.get_ident",
                "threading.current_thread",
                "uuid.getnode",
                "psutil.virtual_memory",
                "psutil.cpu_percent",
                "psutil.disk_usage",
                "os.getloadavg",
                "shutil.disk_usage",
            ),
            attributes=("os.environ",),
            environment=(
                r"HOST(?:NAME)?|COMPUTERNAME|USER(?:NAME)?|LOGNAME|HOME|USERPROFILE|PWD|OLDPWD|TMPDIR|TEMP|TMP",
                r"POD_(?:NAME|IP|UID)|NODE_NAME|K8S_\w+|KUBERNETES_\w+|DYNO|INSTANCE_ID|REPLICA_ID|GIT_\w+",
                r"(?:BUILD|RUN|JOB|REQUEST|TRACE|SESSION)_ID|AWS_LAMBDA_\w+|HEROKU_\w+|XDG_\w+|PATH",
            ),
            names=(
                r"(?:host|machine|computer|pod)_?name|host|fqdn",
                r"cwd|pwd|(?:current_?)?working_?(?:dir|directory|folder)|current_(?:dir|directory|folder|path)",
                r"home_?(?:dir|directory)|temp_?(?:dir|directory)|tmp_?dir|pid|process_id|ip_address",
                r"(?:project|workspace|repo|git)_?(?:root|dir|directory)",
                r"environ|env_?vars|environment_variables|get_?cwd|get_?hostname|getpid",
            ),
        ),
        Sign(
            Mark("PC105", Severity.ERROR, Stability.TURN),
            python=(
                "tempfile.mkdtemp",
                "tempfile.mkstemp",
                "tempfile.mktemp",
                "tempfile.NamedTemporaryFile",
                "tempfile.TemporaryDirectory",
            ),
        ),
        Sign(
            Mark("PC105", Severity.INFO, Stability.DEPLOYMENT),
            python=(
                "platform.platform",
                "os.cpu_count",
                "pathlib.Path.home",
                "pathlib.Path.absolute",
                "os.path.abspath",
                "os.path.realpath",
                "os.path.expanduser",
                "platform.system",
                "platform.machine",
                "platform.release",
                "platform.version",
                "platform.python_version",
                "locale.getlocale",
                "locale.getdefaultlocale",
            ),
            attributes=("sys.platform", "sys.version", "sys.executable", "os.name"),
            environment=(r".*",),
            names=(r"(?:node|container|instance)_?name",),
        ),
    )

    def matters(self, exposed: Exposed, trait: Trait) -> bool:  # noqa: ARG002
        """``node.name`` is the name of something the program knows, not that of a machine.

        What a container's folder is called its image decides: ``container_info["cwd"]`` is always the same.
        """
        if trait.guessed and _ELSEWHERE.search(trait.label):
            return False
        return _NAME_OF_THING.fullmatch(trait.label) is None

    def finding(self, prompt: Prompt, exposed: Exposed, trait: Trait) -> Finding:
        """At the end of a prompt, or behind what is new in each turn, a fact of the machine costs nothing."""
        found = super().finding(prompt, exposed, trait)
        if trait.mark.stability != Stability.PROCESS:
            return found
        little = exposed.stranded_tokens < _ENOUGH_TOKENS and _is_behind_a_clock(prompt, exposed)
        if little or not exposed.words_behind:
            return replace(found, severity=min(found.severity, Severity.INFO))
        return found


def _is_behind_a_clock(prompt: Prompt, exposed: Exposed) -> bool:
    """Whether a value that is seen to be new in each turn stands in front."""
    for other in exposed_holes(prompt):
        if other.part is exposed.part:
            return False
        if any(trait.mark.severity == Severity.ERROR and not trait.once for trait in other.hole.traits):
            return True
    return False
