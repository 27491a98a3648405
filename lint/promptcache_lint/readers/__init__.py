"""The readers: each turns files of one kind into prompts. `readers.choice` picks one for each file."""
