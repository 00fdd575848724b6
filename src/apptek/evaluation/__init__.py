"""The quality of any scorer: ranks, filters, groups of queries and calibration."""
