"""The log: what every run writes and everything else reads. One SQLite file in WAL mode.

`events` says what happened, `writer` appends it, `projection` folds it into the rows of `rows`, `reader` reads those,
`commands` carries wishes back to a runner, `lease` says which runner holds a run. Import the modules; this package
imports nothing, so that asking for one of them costs only that one.
"""
