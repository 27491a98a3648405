"""The rules, one module each, named for the fault; `promptcache_lint.rulebook` finds them by looking here."""
