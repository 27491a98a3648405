"""Fixes: candidates for a finding, tried on a copy of the file and kept when the finding is gone.

`fix` is the value; `candidates` proposes by kind of file; `trial` lints the changed text; `rewrite` changes
files or shows the difference.
"""
