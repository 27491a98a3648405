"""What yields volatile values in TypeScript, each said by the Python call that is its like.

So what a kind of value means, and how grave it is, stands in the rules alone: `Date.now` is `time.time`.
Names of packages are written without ``node:``; a name that begins with a dot is a method of any object.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from promptcache_lint.prompts import Mark
    from promptcache_lint.rulebook import Vocabulary

__all__ = ["age_mark", "attribute_mark", "call_mark", "normal", "source_words"]

_LIKE: dict[str, tuple[str, ...]] = {
    "time.time": (
        *("Date", "Date.now", "performance.now", "process.hrtime", "process.hrtime.bigint", "process.uptime"),
        *("dayjs", "dayjs.utc", "dayjs.tz", "moment", "moment.utc", "moment.now", "luxon.DateTime.now"),
        *("luxon.DateTime.local", "luxon.DateTime.utc", "DateTime.now", "Temporal.Now.instant", "os.uptime"),
        *("Temporal.Now.zonedDateTimeISO", "Temporal.Now.plainDateTimeISO", "Temporal.Now.plainTimeISO"),
        *("perf_hooks.performance.now", "dayjs.unix", "moment.unix"),
    ),
    "datetime.date.today": ("Temporal.Now.plainDateISO", "date-fns.startOfToday"),
    "uuid.uuid4": (
        *("crypto.randomUUID", "uuid.v1", "uuid.v4", "uuid.v6", "uuid.v7", "uuid", "nanoid", "nanoid.nanoid"),
        *("uuidv4", "uuidv7", "short-uuid.generate", "short-uuid.uuid", "ulid", "ulid.ulid", "cuid", "cuid2"),
        *("@paralleldrive/cuid2.createId", "ai.generateId", "ai.createIdGenerator", "crypto.randomBytes"),
        *("crypto.getRandomValues", "mongodb.ObjectId", "bson.ObjectId", "mongoose.Types.ObjectId"),
        *("lodash.uniqueId", "hyperid", "ksuid.randomSync", "Bun.randomUUIDv7", "expo-crypto.randomUUID"),
        *("@ai-sdk/provider-utils.generateId", "nanoid/non-secure.nanoid", "uuid4", "uuidV4"),
    ),
    "random.random": ("Math.random", "crypto.randomInt", "random", "lodash.random", "seedrandom"),
    "random.choice": (
        *("lodash.sample", "lodash.sampleSize", "lodash.shuffle", "radash.draw", "radash.shuffle"),
        *(
            "underscore.sample",
            "underscore.shuffle",
            "remeda.shuffle",
            "es-toolkit.shuffle",
            "es-toolkit.sample",
        ),
        *("ramda-adjunct.shuffle", "array-shuffle", "faker.helpers.arrayElement", "d3.shuffle"),
    ),
    "socket.gethostname": ("os.hostname",),
    "os.getcwd": ("process.cwd", "Deno.cwd"),
    "os.path.abspath": ("path.resolve", "fs.realpath", "fs.realpathSync"),
    "pathlib.Path.home": ("os.homedir", "os.tmpdir"),
    "getpass.getuser": ("os.userInfo",),
    "platform.uname": ("os.networkInterfaces", "os.version"),
    "os.getloadavg": ("os.loadavg", "os.freemem", "os.totalmem", "process.memoryUsage", "process.cpuUsage"),
    "os.cpu_count": ("os.cpus", "os.availableParallelism"),
    "tempfile.mkdtemp": ("fs.mkdtemp", "fs.mkdtempSync"),
    "platform.system": ("os.platform", "os.type", "os.arch", "os.release", "os.machine", "os.EOL"),
    "os.listdir": (
        *("fs.readdir", "fs.readdirSync", "fs.opendir", "fs.opendirSync", "fs-extra.readdir", "Deno.readDir"),
        *("fs-extra.readdirSync", "Deno.readDirSync", "readdirp", "klaw"),
    ),
    "glob.glob": (
        *(
            "glob",
            "glob.glob",
            "glob.globSync",
            "glob.sync",
            "globSync",
            "fast-glob",
            "fast-glob.glob",
            "globby",
        ),
        *("fast-glob.sync", "fast-glob.globSync", "globby.globby", "globby.globbySync", "tinyglobby.glob"),
        *("tinyglobby.globSync", "fs.glob", "fs.globSync", "fg", "fg.sync", "fast-glob.async"),
    ),
    "locale.format_string": ("?.toLocaleString",),
    "asyncio.as_completed": ("Promise.race", "Promise.any", "p-any", "p-race", "p-some"),
}
_LIKE_ATTRIBUTE: dict[str, tuple[str, ...]] = {
    "os.getpid": ("process.pid", "process.ppid", "Deno.pid"),
    "os.getcwd": (
        "__dirname",
        "__filename",
        "import.meta.url",
        "import.meta.dirname",
        "import.meta.filename",
    ),
    "platform.system": ("process.platform", "process.arch", "process.version", "process.versions", "os.EOL"),
}
_AGES = {
    *("date-fns.formatDistanceToNow", "date-fns.formatDistanceToNowStrict"),
    *("timeago.js.format", "timeago", "timeAgo", "javascript-time-ago.format", "?.fromNow", "?.toRelative"),
    *("dayjs.fromNow", "moment.fromNow"),
}
"""What writes how long ago something was: it is made of the clock, and of something else."""
_CALLS = {name: like for like, names in _LIKE.items() for name in names}
_ATTRIBUTES = {name: like for like, names in _LIKE_ATTRIBUTE.items() for name in names}

_PACKAGES = {
    "lodash-es": "lodash",
    "_": "lodash",
    "underscore": "lodash",
    "fs/promises": "fs",
    "fs.promises": "fs",
    "graceful-fs": "fs",
    "moment-timezone": "moment",
    "crypto.webcrypto": "crypto",
    "process.default": "process",
}
_PREFIX = re.compile(r"^(?:node:|globalThis\.|window\.|global\.|self\.)")


def normal(dotted: str) -> str:
    """A dotted name as the tables spell it: ``node:fs/promises.readdir`` is ``fs.readdir``."""
    name = _PREFIX.sub("", dotted).replace(".default.", ".").removesuffix(".default")
    for package, plain in _PACKAGES.items():
        if name == package or name.startswith(package + "."):
            return plain + name[len(package) :]
        if name.startswith(package + "/"):
            return f"{plain}.{name[len(package) + 1 :]}"
    return name


def call_mark(dotted: str, vocabulary: Vocabulary) -> Mark | None:
    """The mark of what a call of ``dotted`` (already `normal`) yields."""
    like = _CALLS.get(dotted)
    return vocabulary.call(like) if like is not None else None


def age_mark(dotted: str, vocabulary: Vocabulary) -> Mark | None:
    """The mark of what a call of ``dotted`` yields that says how long ago a time is."""
    return vocabulary.call("time.time") if dotted in _AGES else None


def attribute_mark(dotted: str, vocabulary: Vocabulary) -> Mark | None:
    """The mark of the value ``dotted`` itself."""
    like = _ATTRIBUTES.get(dotted)
    if like is None:
        return vocabulary.attribute("os.environ") if dotted == "process.env" else None
    return vocabulary.call(like)


def source_words() -> frozenset[str]:
    """The last words of all sources: a text without any of them calls none."""
    names = (*_CALLS, *_ATTRIBUTES, *_AGES)
    return frozenset(re.split(r"[./]", name)[-1] for name in names)
