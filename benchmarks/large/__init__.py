"""Past memory and past one machine: the same solve from a memory map, Parquet, text, a cluster, and Spark's way.

    python -m benchmarks.large make --folder DIR --rows 1e7             # tables, written by blocks; not committed
    python -m benchmarks.large measure --folder DIR --rows 1e6 --rows 1e7   # seconds, memory, passes, gap, bytes sent
    python -m benchmarks.large tables large-lines.jsonl                 # Markdown, from the lines alone

`data` writes the tables, `entrants` says who solves them, `apart` runs each of them in a process of its own, which
`weigh` weighs, `passes` counts how often the rows are read. `spark` minimises as Spark's LinearSVC does, `cluster`
starts workers, and counts graphs and bytes. `tables` knows nothing but lines.
"""
