"""Prompts in Python source: an abstract run of the program that keeps texts as parts and values as traits.

`reader` picks the files worth the work and drives it; `program` knows modules, imports and definitions;
`interpreter` runs functions on abstract `values`; `sinks` recognises where a value becomes a prompt.
Nothing of the program that is read is ever imported or executed.
"""
