"""Small libraries in the place of CUDA's: with them a torch that was built for CUDA runs on a CPU.

A shared library names the libraries it needs, and its undefined symbols with the version and library they
come from. That is read with ``readelf``, and ``cc`` makes a library of each such name with a function of each
such name. A function answers what CUDA's own answer where there is no device; none does anything.
"""

import ctypes
import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

_NO_DEVICE = 100
"""What CUDA's own functions answer where there is no device (``cudaErrorNoDevice``)."""


@dataclass
class Needs:
    """What shared libraries ask of others.

    ``libraries`` are file names; ``versioned`` are symbols by library and version; ``plain`` are symbols of
    which it is not said where they come from; ``defined`` are those the libraries have themselves.
    """

    libraries: set[str] = field(default_factory=set)
    versioned: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    plain: set[str] = field(default_factory=set)
    defined: set[str] = field(default_factory=set)

    def read(self, dynamic: str, versions: str, symbols: str) -> None:
        """Add what ``readelf -d``, ``-V`` and ``--dyn-syms`` say of one library, each with ``-W``."""
        self.libraries.update(re.findall(r"\(NEEDED\).*\[(.+?)\]", dynamic))
        owners: dict[str, str] = {}
        owner = ""
        for line in versions.splitlines():
            if found := re.search(r"File: (\S+)\s+Cnt", line):
                owner = found[1]
            elif owner and (found := re.search(r"Name: (\S+)\s+Flags", line)):
                owners[found[1]] = owner
        for line in symbols.splitlines():
            columns = line.split()
            if len(columns) < 8 or not columns[0].rstrip(":").isdigit():
                continue
            bind, place = columns[4], columns[6]
            name, _, version = columns[7].partition("@")
            if place != "UND":
                self.defined.add(name)
            elif version in owners:
                self.versioned.setdefault((owners[version], version), set()).add(name)
            elif not version and bind == "GLOBAL":
                self.plain.add(name)

    def loose(self) -> set[str]:
        """Symbols of some other library, of which it is not said which; those of Python are Python's."""
        return {name for name in self.plain - self.defined if not re.match(r"_?Py", name)}


def source_of(names: Iterable[str]) -> str:
    """C functions of these names: each says that there is no device, those that return text return some."""
    lines = [
        f'const char *{name}(void) {{ return "no device"; }}'
        if re.search(r"String|ErrorName", name) and "Destroy" not in name
        else f"long {name}(void) {{ return {_NO_DEVICE}; }}"
        for name in sorted(names)
        if re.fullmatch(r"[A-Za-z_]\w*", name)
    ]
    return "\n".join([*lines, "static int none __attribute__((unused));", ""])


def versions_of(names: Mapping[str, Iterable[str]]) -> str:
    """The linker's version script: which symbols belong to which version."""
    parts = (
        f"{version} {{ global: {' '.join(f'{name};' for name in sorted(owned))} }};\n"
        for version, owned in sorted(names.items())
    )
    return "".join(parts)


def stand_ins(libraries: Path, into: Path) -> list[str]:
    """Make a library for each that those in a folder need and that is nowhere.

    Args:
        libraries: the folder of the libraries that need others.
        into: the folder to make them in.

    Returns:
        Their file names.

    Raises:
        subprocess.CalledProcessError: ``readelf`` or ``cc`` failed.
    """
    present = {path.name: path for path in libraries.iterdir() if ".so" in path.name}
    needs = Needs()
    for path in present.values():
        needs.read(*(_readelf(path, option) for option in ("-d", "-V", "--dyn-syms")))
    missing = sorted(name for name in needs.libraries - present.keys() if not _loads(name))
    into.mkdir(parents=True, exist_ok=True)
    loose = needs.loose()
    for name in missing:
        owned = {version: found for (owner, version), found in needs.versioned.items() if owner == name}
        _build(into / name, owned, loose)
        loose = set()  # the first has them all
    return missing


def _readelf(path: Path, option: str) -> str:
    command = ["readelf", "-W", option, str(path)]
    english = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=english).stdout


def _loads(name: str) -> bool:
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


def _build(library: Path, owned: Mapping[str, set[str]], loose: set[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source, versions = Path(folder, "functions.c"), Path(folder, "versions.map")
        source.write_text(source_of(loose.union(*owned.values())), encoding="ascii")
        versions.write_text(versions_of(owned), encoding="ascii")
        command = ["cc", "-w", "-fno-builtin", "-shared", "-fPIC", f"-Wl,-soname,{library.name}"]
        if owned:
            command.append(f"-Wl,--version-script={versions}")
        subprocess.run([*command, "-o", str(library), str(source)], check=True)
