"""Speed and memory, measured as ratios within one run because machines are noisy."""
