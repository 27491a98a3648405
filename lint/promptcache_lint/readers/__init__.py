"""The readers: each turns files of one kind into prompts. `promptcache_lint.readers.choice` picks the reader."""
