"""The paper's topologies: their form, how they are mined, and how they become features."""
