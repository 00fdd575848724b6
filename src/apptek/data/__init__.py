"""Files of facts become read-only arrays and names."""
