"""The engine's numerical operations; ``reference`` is their specification and the CPU path."""
