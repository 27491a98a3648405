"""Headers on their way back to the caller."""

from __future__ import annotations

import pytest

from promptcache_gateway.upstreams.headers import to_caller


@pytest.mark.parametrize("value", [b"a\0b", b"\x01", b"a\rb", b"a\nb", b"\x1f", b"a\x7f"])
def test_a_value_with_control_bytes_does_not_go_back(value: bytes) -> None:
    kept = [(b"x-a", b"tab\tand \xc3\xa9"), (b"x-b", b"")]
    assert to_caller([kept[0], (b"x-evil", value), kept[1]], decoded=False) == kept
