"""Kinds of masters behind one contract: pages of rows, and a directory of where keys can be."""
