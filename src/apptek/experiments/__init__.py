"""Runs that are recorded: settings become result files, and those become tables and figures."""
