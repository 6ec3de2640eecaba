"""Past memory and past one machine: the same solve from a memory map, Parquet, text, a cluster, and Spark's way.

    python -m benchmarks.large make --to DIR --rows 1e7              # tables, written by blocks; not committed
    python -m benchmarks.large measure --from DIR --rows 1e7         # seconds, memory, passes, gap; a line an entrant
    python -m benchmarks.large growth --from DIR                     # time an iteration against n
    python -m benchmarks.large traffic --from DIR                    # bytes an iteration on a cluster, as Dask counts
    python -m benchmarks.large network                               # the cost model against a slow network
    python -m benchmarks.large tables large.jsonl                    # Markdown, from the lines alone

`data` writes the tables, `entrants` says who solves them, `apart` runs each of them in a process of its own, which
`weigh` weighs, `passes` counts how often the rows are read. `spark` minimises as Spark's LinearSVC does, `cluster`
starts workers and reads their counters. `model` is the cost model of the documentation, `network` holds it against
teams whose messages are slow. `tables` knows nothing but lines.
"""
