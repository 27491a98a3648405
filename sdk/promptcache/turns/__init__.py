"""What a conversation is made of: frozen entries, the static part, and how they are stored."""
