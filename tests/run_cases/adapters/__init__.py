"""One module a check, named for it; ``run(case)`` returns what the product answers under the judged keys.

An adapter looks at a case's inputs only, never at its id or at what is expected.
"""
