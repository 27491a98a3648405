"""What Python code does to a conversation: trims it, edits it, switches its model, replays it differently.

Works on syntax, function by function. `facts` knows which names hold messages and which calls ask a model;
the other modules recognise one family of practices each; `finder` runs them over a module.
"""
