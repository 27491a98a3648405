"""Runs cases (an input and the right answer) through the public API: ``python -m tests.run_cases DIR…``."""
