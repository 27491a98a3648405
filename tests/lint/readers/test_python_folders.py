"""Where the modules of a dotted name lie: the longest beginning that is a module, from here or from above."""

from __future__ import annotations

from promptcache_lint.readers.python.folders import Folders


def _tree(root, *names):
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("", encoding="utf-8")


def test_the_longest_beginning_that_is_a_module_is_found(tmp_path):
    _tree(tmp_path, "shop/__init__.py", "shop/prompts.py", "shop/plain/deep.py")
    folders = Folders((tmp_path,))
    start = str(tmp_path)
    assert folders.find(start, ["shop", "prompts", "SYSTEM"]) == (tmp_path / "shop/prompts.py", 2)
    assert folders.find(start, ["shop", "Clerk"]) == (tmp_path / "shop/__init__.py", 1)
    assert folders.find(start, ["shop", "plain", "deep"]) == (tmp_path / "shop/plain/deep.py", 3)
    assert folders.find(start, ["market", "prompts"]) is None
    assert folders.find(start, []) is None


def test_a_module_beside_a_folder_of_its_name_goes_first(tmp_path):
    _tree(tmp_path, "shop.py", "shop/__init__.py")
    assert Folders(()).find(str(tmp_path), ["shop"]) == (tmp_path / "shop.py", 1)


def test_absolute_imports_start_here_and_above_up_to_the_root(tmp_path):
    root = tmp_path / "project"
    inner = root / "app" / "chat"
    starts = Folders((root,)).starts(inner)
    assert starts[0] == str(inner)
    assert {str(root / "app"), str(root), str(root / "src"), str(tmp_path)} <= set(starts)
    assert Folders(()).starts(inner) == (str(inner),)


def test_what_is_listed_is_remembered_until_it_is_forgotten(tmp_path):
    folders = Folders(())
    assert folders.find(str(tmp_path), ["late"]) is None
    _tree(tmp_path, "late.py")
    assert folders.find(str(tmp_path), ["late"]) is None
    folders.forget()
    assert folders.find(str(tmp_path), ["late"]) == (tmp_path / "late.py", 1)


def test_a_package_is_the_outermost_one(tmp_path):
    _tree(tmp_path, "shop/__init__.py", "shop/chat/__init__.py", "shop/chat/deep.py", "scripts/run.py")
    folders = Folders((tmp_path,))
    assert folders.package(tmp_path / "shop" / "chat") == tmp_path / "shop"
    assert folders.package(tmp_path / "shop" / "texts" / "long") == tmp_path / "shop"
    assert folders.package(tmp_path / "shop") == tmp_path / "shop"
    assert folders.package(tmp_path / "scripts") == tmp_path / "scripts"
    assert folders.package(tmp_path / "gone") == tmp_path / "gone"
