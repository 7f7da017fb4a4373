"""The papers' figures and tables, run again: rows of tables over one runner.

    figure row -> cells -> run (or found done) -> one JSON file a cell -> figure's data as JSON

A paper's figures are in the file of its number (`s1` to `s5`). A cell is one algorithm on one workload, so
figures and papers that ask for the same cell share it.
"""
