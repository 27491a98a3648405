"""Rendering of templates: an environment without chance, and the split into static head and volatile tail."""
