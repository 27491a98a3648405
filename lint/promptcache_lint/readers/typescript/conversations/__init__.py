"""What TypeScript code does to a conversation: trims it from the front, edits what was sent.

Works on syntax, a module at a time. `names` says what variables mean, `facts` which lists reach a model;
`trims` and `edits` recognise one family of practices each; `finder` runs them.
"""
