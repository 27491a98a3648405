"""OpenTelemetry, an extra: a span for every request, by the conventions for generative AI. Loads nothing."""
