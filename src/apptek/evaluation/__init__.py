"""The quality of any scorer: ranks, filters, query groups and calibration."""
