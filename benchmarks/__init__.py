"""SVM and QP solvers beside each other, scored from outside: suites of machines × solvers × tolerances.

    python -m benchmarks --quick                 # four minutes; with --first 1 one task of each suite, half a minute
    python -m benchmarks list                    # suites, tasks, solvers
    python -m benchmarks --suite linear --data DIR --lines linear.jsonl
    python -m benchmarks report linear.jsonl     # tables and pictures, from the lines alone

    python -m benchmarks --table my.csv --target label --standardise    # your own table, every solver
    python -m benchmarks --quick --solver my_solver.py --solver qpsvm   # your own solver: benchmarks/solvers/own.py

    python -m benchmarks join old.jsonl.xz new.jsonl --to all.jsonl.xz   # what was measured again replaces the old

`samples` and `tasks` say what is solved, `solvers` by whom, `build_suites`, `kinds` and `wide` what belongs together;
`own` makes a suite of tables that are named on the command line, where `chosen` reads what is asked for. `measure` is
what happens in the process of one solver, `threads` how many threads it gets, `score` the judge, `run` the
one that listens and writes `lines`. `summary`, `tables`, `details`, `pictures` and `report` know nothing but lines.
"""
