"""Changes of a request that an operator may ask for, each off by default; and the names of all others."""

from promptcache_gateway.mutations.mutator import MUTATIONS, Mutator
from promptcache_gateway.mutations.rules import MutationRules, MutationSettings, read_mutations

__all__ = ["MUTATIONS", "MutationRules", "MutationSettings", "Mutator", "read_mutations"]
