"""Experiments: their runs leave result files, from which tables and figures are made."""
