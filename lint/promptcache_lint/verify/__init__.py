"""``promptcache verify``: renders a request in different worlds and says which difference of them it shows.

`worlds` says what can be different; `process` is what runs in a process of its own, with `clock`, `chance`,
`surroundings`, `network` and `clients` in place of the real ones; `render` starts it; `differences` compares
what came out, and `experiment` finds out which difference of the worlds is to blame.
"""
