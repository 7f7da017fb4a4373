"""What a join should cost: the papers' formulas and corrected ones, a file for each algorithm."""
