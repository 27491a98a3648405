"""Provider forms: one conversation as the messages of OpenAI chat, OpenAI Responses, or Anthropic.

Each form is a pure function of frozen entries, entry by entry: what it wrote for an entry once, it writes for
ever, so the messages of turn n begin those of turn n+1, byte for byte. No entry's message depends on a later
one, and none changes between a string and a list of parts.
"""
