"""Diagnosis from counters alone: hit rates, miss reasons and patterns in usage records, without a prompt."""

from promptcache.counters.misses import MissReason, miss_reason, miss_reasons
from promptcache.counters.plateau import Plateau, find_plateau
from promptcache.counters.rates import HitRates, hit_rates
from promptcache.counters.record import CounterRecord
from promptcache.counters.sequence import SequenceDiagnosis, diagnose_sequence
from promptcache.counters.single import RequestFacts, UsageDiagnosis, diagnose_usage

__all__ = [
    "CounterRecord",
    "HitRates",
    "MissReason",
    "Plateau",
    "RequestFacts",
    "SequenceDiagnosis",
    "UsageDiagnosis",
    "diagnose_sequence",
    "diagnose_usage",
    "find_plateau",
    "hit_rates",
    "miss_reason",
    "miss_reasons",
]
