"""Changes of a request that an operator may ask for, each off by default; and the names of all others."""

from promptcache_gateway.mutations.mutator import Mutator
from promptcache_gateway.mutations.rules import MutationRules, MutationSettings, read_mutations

__all__ = ["MutationRules", "MutationSettings", "Mutator", "read_mutations"]
