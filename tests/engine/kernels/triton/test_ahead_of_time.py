"""Kernels compiled for devices that are not here, as they are shipped: none keeps registers in memory.

Every kernel is compiled for one target here, attention for all, of what can be set together what takes most;
``benchmarks/kernels.py`` compiles the rest and fails where one spills.
"""

import importlib.util
import os

import pytest
import torch

if importlib.util.find_spec("triton") is None or os.environ.get("TRITON_INTERPRET") == "1":
    pytest.skip("Triton is not installed, or interprets in this process", allow_module_level=True)

from benchmarks import kernels as table
from promptcache_engine.kernels.triton import ahead, compiled, shipped, slots, tiles
from promptcache_engine.kernels.triton.ahead import compile_ahead
from promptcache_engine.kernels.triton.launch import Target

AMD = Target("hip", 942)
SHARED = {"cuda": 99 << 10, "hip": 64 << 10}
"""Bytes that a program may share, by the makers. The largest NVIDIA devices have 163 and 227 KiB; the
smaller ones of their generations (8.6, 8.9, 12.0), which take the same tiles, have 99."""

PLAIN = [(target, 128, torch.bfloat16) for target in shipped.TARGETS] + [
    (Target("cuda", 90), 64, torch.float8_e4m3fn),
    (Target("cuda", 100), 64, torch.bfloat16),
    (Target("cuda", 80), 80, torch.bfloat16),
    (Target("cuda", 90), 96, torch.bfloat16),
    *((target, dim, torch.bfloat16) for target in shipped.TARGETS[2:] for dim in (80, 96)),
]

COMBINED = [
    (Target("cuda", 80), 256, torch.int8, torch.float16, False),
    (Target("cuda", 80), 128, torch.float8_e4m3fn, torch.float16, True),
    (Target("cuda", 80), 128, torch.bfloat16, torch.bfloat16, False),
    (Target("cuda", 80), 64, torch.bfloat16, torch.bfloat16, False),
    (Target("cuda", 90), 256, torch.float32, torch.float32, True),
    (Target("cuda", 90), 256, torch.int8, torch.float16, False),
    (Target("cuda", 90), 128, torch.int8, torch.float32, True),
    (Target("cuda", 100), 256, torch.bfloat16, torch.bfloat16, True),
    (Target("cuda", 100), 256, torch.float32, torch.float32, False),
    (Target("hip", 942), 256, torch.int8, torch.float16, True),
]
"""Dtypes of pages and of queries, whether deterministic: what takes most, or has spilled."""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "triton"))


def check(each: shipped.Shipped, target: Target) -> None:
    resources = compile_ahead(each.launch, target)
    assert resources.spilled == 0, f"{each.operation} ({each.variant}) spills on {target}"
    assert resources.shared <= SHARED[target.kind]
    assert 0 < resources.registers <= (255 if target.kind == "cuda" else 512)


@pytest.mark.parametrize(("target", "dim", "coding"), PLAIN, ids=str)
def test_attention_compiles_everywhere_without_spills(target: Target, dim: int, coding: torch.dtype) -> None:
    for each in shipped.attention_launches(target, dim, coding):
        check(each, target)


@pytest.mark.parametrize(("target", "dim", "coding", "asked", "exact"), COMBINED, ids=str)
def test_options_together_do_not_spill(
    target: Target, dim: int, coding: torch.dtype, asked: torch.dtype, exact: bool
) -> None:
    for each in shipped.attention_launches(target, dim, coding, asked=asked, gemma=True, deterministic=exact):
        check(each, target)


@pytest.mark.parametrize(
    ("target", "dim", "coding", "asked", "exact", "group", "page_size"),
    [
        (Target("cuda", 80), 128, torch.bfloat16, torch.bfloat16, True, 1, 1),
        (Target("cuda", 80), 256, torch.bfloat16, torch.bfloat16, False, 3, 3),
        (Target("cuda", 90), 128, torch.int8, torch.float16, False, 3, 3),
        (Target("cuda", 80), 64, torch.bfloat16, torch.bfloat16, False, 7, 16),
    ],
    ids=str,
)
def test_divided_keys_do_not_spill_in_odd_groups_and_pages(
    target: Target, dim: int, coding: torch.dtype, asked: torch.dtype, exact: bool, group: int, page_size: int
) -> None:
    launches = shipped.attention_launches(
        target,
        dim,
        coding,
        asked=asked,
        gemma=not exact,
        deterministic=exact,
        group=group,
        page_size=page_size,
    )
    (divided,) = (each for each in launches if each.operation == "extend_attention, keys divided")
    assert divided.variant.endswith(f", groups of {group}, pages of {page_size}")
    check(divided, target)


@pytest.mark.parametrize(
    ("coding", "asked"),
    [(torch.bfloat16, None), (torch.float8_e4m3fn, None), (torch.int8, torch.float16)],
    ids=str,
)
def test_rows_compile_without_spills(coding: torch.dtype, asked: torch.dtype | None) -> None:
    for target in (Target("cuda", 90), Target("hip", 942)):
        plain, normed = shipped.row_launches(128, coding, asked=asked)
        assert plain.launch.constants["norms_key"] is not normed.launch.constants["norms_key"]
        for each in (plain, normed):
            check(each, target)


@pytest.mark.parametrize("target", shipped.TARGETS, ids=str)
@pytest.mark.parametrize("dim", [64, 80, 96, 256])
def test_rows_of_every_size_compile_without_spills(dim: int, target: Target) -> None:
    for each in shipped.row_launches(dim, torch.bfloat16):
        check(each, target)


@pytest.mark.parametrize(
    ("dim", "coding", "asked", "gemma"),
    [(128, torch.bfloat16, None, False), (256, torch.int8, torch.float16, True)],
    ids=str,
)
def test_small_pools_of_amd_devices_do_not_spill(
    dim: int, coding: torch.dtype, asked: torch.dtype | None, gemma: bool
) -> None:
    for each in shipped.attention_launches(AMD, dim, coding, asked=asked, gemma=gemma, small=True):
        check(each, AMD)


@pytest.mark.parametrize("small", [False, True])
def test_slots_move_between_a_pool_and_a_smaller_memory(small: bool) -> None:
    """The first two arguments: where rows come from and where they go to."""
    marks = {}
    for each in shipped.slot_launches(small=small):
        facts = ahead._source(each.launch, AMD).attrs
        marks[each.operation] = [["tt.pointer_range", 32] in facts[place,] for place in range(4)]
        if small:
            check(each, AMD)
    assert marks == {
        "copy_slots": [small, small, True, True],
        "gather_slots": [small, True, True, True],
        "scatter_slots": [True, small, True, True],
    }


@pytest.mark.parametrize("small", [False, True])
def test_tensors_are_marked_as_triton_marks_them_for_amd_devices(small: bool) -> None:
    from triton.backends.amd.compiler import HIPBackend

    for each in shipped.attention_launches(AMD, 64, torch.bfloat16, small=small):
        marks = ahead._source(each.launch, AMD).attrs
        ranges = []
        for place, argument in enumerate(each.launch.arguments):
            if isinstance(argument, torch.Tensor):
                own = HIPBackend.parse_attr(HIPBackend.get_tensor_specialization(argument, align=True))
                assert sorted(marks[place,]) == sorted(own)
                ranges.append("tt.pointer_range" in dict(own))
        assert any(ranges)
        assert all(ranges) == (small or each.operation.endswith(", merging"))
        assert "tt.pointer_range" not in str(ahead._source(each.launch, Target("cuda", 90)).attrs)


@pytest.mark.parametrize("target", shipped.TARGETS, ids=str)
def test_the_others_compile_without_spills(target: Target) -> None:
    for each in shipped.other_launches(torch.bfloat16):
        check(each, target)


def test_devices_of_12_take_the_tiles_of_8() -> None:
    """Their products are those of 8.0: with the tiles of 9.0 and 10.0 they spilled."""
    choices = (tiles.extend_tiles, tiles.divided_tiles, tiles.decode_tiles, tiles.deterministic_tiles)
    shapes = [(padded, size, coded) for padded in (64, 128, 256) for size in (2, 4) for coded in (0, 1, 2)]
    for choose in choices:
        for shape in shapes:
            assert choose(Target("cuda", 120), *shape) == choose(Target("cuda", 80), *shape)
    of_8, of_10, of_10_3 = (tiles.extend_tiles(Target("cuda", arch), 128, 2, 0) for arch in (80, 100, 103))
    assert of_10 == of_10_3 != of_8


def test_every_operation_is_among_the_shipped() -> None:
    from promptcache_engine.kernels import triton

    launches = [*shipped.attention_launches(Target("cuda", 90), 64, torch.bfloat16)]
    launches += [*shipped.row_launches(64, torch.bfloat16), *shipped.other_launches(torch.bfloat16)]
    assert {each.operation.partition(",")[0] for each in launches} == set(triton.__all__)


def test_programs_are_told_by_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """As Triton keeps them, for each device in the first part of a tuple; another form tells nothing."""
    assert isinstance(slots._move_rows.device_caches, dict)  # type: ignore[attr-defined]
    caches: dict[int, object] = {}
    monkeypatch.setattr(slots._move_rows, "device_caches", caches)
    monkeypatch.setattr(compiled, "_MODULES", (slots,))
    assert compiled.programs() == ()
    caches.update({0: ({"one": 1, "other": 2}, {}), 1: ({"one": 1}, {})})
    assert compiled.programs() == (("move_rows", 3),)
    caches[1] = object()
    assert compiled.programs() == (("move_rows", 2),)


def test_targets_are_known_by_both_spellings() -> None:
    assert table.targets_named("hip:gfx942, cuda:90") == [Target("cuda", 90), Target("hip", 942)]
    assert table.targets_named("hip:942") == [Target("hip", 942)]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--targets", "cuda:90,cuda:75"], "no such target: cuda:75; there are cuda:80, cuda:90"),
        (["--targets", ""], "no such target"),
        (["--targets", "cuda:90", "--write"], "leave --targets out"),
        (["--odd", "--write"], "--write: not allowed with argument --odd"),
        (["--jobs", "0"], "--jobs 0: at least one"),
        (["--jobs", "-1"], "--jobs -1: at least one"),
    ],
)
def test_the_table_is_not_written_for_some_targets_only(
    options: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["kernels.py", *options])
    monkeypatch.setattr(table, "compiled", pytest.fail)
    before = table.REPORT.read_bytes()
    with pytest.raises(SystemExit) as ended:
        table.main()
    assert ended.value.code == 2
    assert said in capsys.readouterr().err
    assert table.REPORT.read_bytes() == before


def test_nothing_is_compiled_where_triton_interprets(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["kernels.py", "--targets", "cuda:90"])
    monkeypatch.setattr(table, "interpreting", lambda: True)
    with pytest.raises(SystemExit) as ended:
        table.main()
    assert ended.value.code == 2
    assert "TRITON_INTERPRET is set" in capsys.readouterr().err
