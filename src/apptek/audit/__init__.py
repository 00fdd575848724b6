"""Find facts that look wrong: each fact is hidden in turn and predicted from the others."""
