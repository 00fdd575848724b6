"""Facts that look wrong: every fact is asked about with itself hidden."""
