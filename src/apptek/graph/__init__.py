"""Facts indexed by entity and time, and the kernels that look them up."""
