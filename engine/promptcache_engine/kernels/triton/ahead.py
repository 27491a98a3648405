"""Compiling launches for devices that are not there, and what the compiled code takes of them."""

import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
import triton
from torch import Tensor
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from promptcache_engine.kernels.triton.launch import Argument, Constant, Launch, Target

_TYPES = {
    torch.float32: "fp32", torch.float16: "fp16", torch.bfloat16: "bf16", torch.int8: "i8", torch.uint8: "u8",
    torch.int32: "i32", torch.int64: "i64",
}  # fmt: skip
_DIVISIBLE = 16
_ATTRIBUTE = [["tt.divisibility", _DIVISIBLE]]
_NEAR = [["tt.pointer_range", 32]]
"""Of a pointer into less than 2 GiB: there Triton lets AMD devices read and write with other instructions."""


@dataclass(frozen=True)
class Resources:
    """What one program of a compiled kernel takes.

    Args:
        registers: of one thread.
        spilled: bytes of a thread's memory that stand in for registers; of an AMD device, the registers
            spilled to memory.
        shared: bytes of memory that a program's threads share.
    """

    registers: int
    spilled: int
    shared: int


def compile_ahead(launch: Launch, target: Target) -> Resources:
    """Compile a launch, as the target would at its first run; tensors may lie on torch's ``meta`` device.

    An AMD device has a program of its own for tensors in less than 2 GiB of memory.
    """
    if target.kind == "hip":
        device = GPUTarget("hip", f"gfx{target.arch}", 64)
    else:
        device = GPUTarget("cuda", target.arch, 32)
    compiled = triton.compile(_source(launch, target), target=device, options=launch.options.as_triton())
    if target.kind == "hip":
        return _of_amd(compiled.asm["amdgcn"], compiled.metadata.shared)
    return _of_nvidia(compiled.asm["cubin"], compiled.metadata.shared)


def _source(launch: Launch, target: Target) -> Any:
    """The kernel with the types and facts that Triton would find in the launch's arguments.

    Where tensors lie is not looked at: each is taken to begin at a multiple of 16 bytes, as an engine's do.
    For one that does not (a view with an odd offset) Triton compiles another program, which this is not.
    """
    kernel = cast("Any", launch.kernel)
    signature: dict[str, str] = {}
    constants: dict[str, Constant] = dict(launch.constants)
    facts: dict[tuple[int, ...], Any] = {}
    for place, parameter in enumerate(kernel.params):
        name = parameter.name
        if place >= len(launch.arguments):
            signature[name] = "constexpr"
            continue
        argument = launch.arguments[place]
        plain = bool(parameter.do_not_specialize)
        if isinstance(argument, int) and argument == 1 and not plain:
            signature[name], constants[name] = "constexpr", 1
            continue
        signature[name] = _type_of(argument)
        if isinstance(argument, Tensor):
            near = target.kind == "hip" and argument.untyped_storage().nbytes() < 2**31
            facts[(place,)] = _ATTRIBUTE + _NEAR if near else _ATTRIBUTE
        elif isinstance(argument, int) and not plain and argument % _DIVISIBLE == 0:
            facts[(place,)] = _ATTRIBUTE
    return ASTSource(fn=kernel, signature=signature, constexprs=constants, attrs=facts)


def _type_of(argument: Argument) -> str:
    if isinstance(argument, Tensor):
        return f"*{_TYPES[argument.dtype]}"
    if isinstance(argument, float):
        return "fp32"
    return "i32" if -(2**31) <= argument < 2**31 else "i64"


def _of_nvidia(binary: bytes, shared: int) -> Resources:
    """Read by the ``cuobjdump`` that comes with Triton; a stack is there for spilled registers only."""
    tool = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(binary)
        file.flush()
        command = [str(tool), "-res-usage", file.name]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603 - our own tool
    usage = dict(re.findall(r"(REG|STACK|LOCAL):(\d+)", text))
    return Resources(int(usage["REG"]), int(usage["STACK"]) + int(usage["LOCAL"]), shared)


def _of_amd(assembly: str, shared: int) -> Resources:
    def count(name: str) -> int:
        return max(int(number) for number in re.findall(rf"\.{name}:\s+(\d+)", assembly))

    # Scalar registers spill into vector registers, not into memory.
    return Resources(count("vgpr_count"), count("vgpr_spill_count"), shared)
