"""From features to ranked predicates: the classifier, its calibration, and the ranking."""
