"""How good a scorer is: ranks, filters, groups of queries and calibration, for any model."""
