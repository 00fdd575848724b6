"""The commands under `apptek paper`: the paper's agent, its topologies, tables and figures."""
