"""The commands under `apptek research`: comparisons, searches, measurements."""
