"""A synthetic dataset whose events follow planted rules, so that the right answers are known."""
