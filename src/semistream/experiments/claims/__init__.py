"""The papers' claims, and a verdict on each from what was measured.

One table a paper (`s1` to `s5`), and `orderings` for what the five say together. A verdict is computed from
results alone; the words that explain it were written when it was first seen, and hold for that verdict only.
"""
