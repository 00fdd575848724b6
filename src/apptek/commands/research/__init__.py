"""Commands of research: baselines, comparisons, recorded runs, measurements, the agent alone."""
