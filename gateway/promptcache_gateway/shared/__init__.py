"""What several processes of the gateway know together: records, templates, history, limits, live events."""
