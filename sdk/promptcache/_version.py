"""The distribution's one version, read by the build and by every room."""

__version__ = "0.1.0"
