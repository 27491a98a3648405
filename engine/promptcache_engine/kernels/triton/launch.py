"""The one typed boundary to Triton: what a kernel, a launch and a target are, and how a launch is made real.

Triton has no types of its own. A launch is a value: the engine runs it, the tests compile it ahead of time
for devices that are not there, and both see the same arguments, tile sizes and options.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import torch
import triton
from torch import Tensor

Argument = Tensor | int | float
Constant = int | float | str | bool
Kernel = Callable[..., Any]
"""A function in Triton's language; it is launched, not called."""


@dataclass(frozen=True)
class Target:
    """A kind of device: what tile sizes are chosen by.

    ``arch`` is the compute capability (80, 90, 100, ...) of an NVIDIA device, and the number in ``gfx942`` of
    an AMD one. Kind ``cpu`` is Triton's interpreter.
    """

    kind: Literal["cuda", "hip", "cpu"]
    arch: int = 0


@dataclass(frozen=True)
class Options:
    """How a kernel is compiled: threads work in ``warps``, loads run ``stages`` ahead.

    ``registers`` is the most a thread may take, of NVIDIA devices only. Where it is not said the assembler
    may keep to fewer than there are, so that more programs run at once, and spill what does not fit.
    """

    warps: int = 4
    stages: int = 1
    registers: int | None = None

    def as_triton(self) -> dict[str, int | bool]:
        """As Triton names them; a product and a sum are fused where the kernel says so, nowhere else."""
        bound = {} if self.registers is None else {"maxnreg": self.registers}
        return {"num_warps": self.warps, "num_stages": self.stages, "enable_fp_fusion": False, **bound}


@dataclass(frozen=True, eq=False)
class Launch:
    """One launch of a kernel.

    ``arguments`` are what differs from call to call, in the kernel's order; ``constants`` are compiled in.
    """

    kernel: Kernel
    grid: tuple[int, ...]
    arguments: tuple[Argument, ...]
    constants: Mapping[str, Constant]
    options: Options = field(default_factory=Options)

    def run(self) -> None:
        """Launch on the current stream; an empty grid does nothing.

        Raises:
            ValueError: no kernel runs where the arguments lie.
        """
        if 0 in self.grid:
            return
        tensors = [each for each in self.arguments if isinstance(each, Tensor)]
        if not interpreting() and not any(each.is_cuda for each in tensors):  # some may be the host's
            raise _nowhere(tensors[0].device)
        cast("Any", self.kernel)[self.grid](*self.arguments, **self.constants, **self.options.as_triton())


def jit(*, varying: Sequence[str] = ()) -> Callable[[Callable[..., Any]], Kernel]:
    """Make a function a kernel; the integers named in ``varying`` do not lead to another compilation."""

    def decorate(function: Callable[..., Any]) -> Kernel:
        return cast("Kernel", triton.jit(function, do_not_specialize=list(varying)))

    return decorate


def interpreting() -> bool:
    """Whether Triton's interpreter takes the place of a device (``TRITON_INTERPRET=1`` at import)."""
    return bool(triton.knobs.runtime.interpret)


def target_of(tensor: Tensor) -> Target:
    """The kind of device a tensor lies on.

    Raises:
        ValueError: no kernel runs there.
    """
    device = tensor.device
    if device.type == "cuda":
        properties = torch.cuda.get_device_properties(device)
        if torch.version.hip is None:
            return Target("cuda", properties.major * 10 + properties.minor)
        name = str(properties.gcnArchName).partition(":")[0].removeprefix("gfx")
        return Target("hip", int(name) if name.isdigit() else 0)
    if device.type == "cpu" and interpreting():
        return Target("cpu")
    raise _nowhere(device)


def _nowhere(device: torch.device) -> ValueError:
    return ValueError(f"Triton kernels run on a GPU, not on {device}; there the torch operations do the same")


def next_power_of_two(number: int) -> int:
    """The least power of two that is not below ``number``, which is positive."""
    return 1 << (number - 1).bit_length()
