"""Numbers that the paper prints."""

TITLES = {"icews14": "ICEWS14", "icews05-15": "ICEWS05-15", "yago15k": "YAGO15K"}
Numbers = dict[str, tuple[float, ...]]  # MRR, Hits@10 and Hits@1 by data set

# Table 2: the paper's own method, and the baselines as it trained them.
PRINTED_OWN: Numbers = {
    "icews14": (0.4889, 0.7749, 0.3421),
    "icews05-15": (0.4844, 0.8246, 0.3222),
    "yago15k": (0.6041, 0.9547, 0.3537),
}
PRINTED_MODELS: dict[str, Numbers] = {
    "TNTComplEx": {
        "icews14": (0.2691, 0.5266, 0.1701),
        "icews05-15": (0.2398, 0.4775, 0.1327),
        "yago15k": (0.5852, 0.9699, 0.3168),
    },
    "DE-SimplE": {
        "icews14": (0.5074, 0.7573, 0.3882),
        "icews05-15": (0.4289, 0.6551, 0.3162),
        "yago15k": (0.2749, 0.4228, 0.1852),
    },
    "DE-TransE": {
        "icews14": (0.2068, 0.3119, 0.1364),
        "icews05-15": (0.1928, 0.3486, 0.1074),
        "yago15k": (0.3906, 0.4827, 0.3120),
    },
    "DE-DistMult": {
        "icews14": (0.4613, 0.7370, 0.3261),
        "icews05-15": (0.3197, 0.5243, 0.2129),
        "yago15k": (0.2459, 0.4298, 0.1457),
    },
    "RE-GCN": {"icews14": (0.4756, 0.7524, 0.3535), "icews05-15": (0.4750, 0.7483, 0.3524)},
    "APPTeK": PRINTED_OWN,
}
# Table 3, by tknn: MRR, Hits@10, Hits@1, milliseconds an episode.
PRINTED_TKNN = {
    5: (0.4297, 0.7563, 0.2849, 23),
    15: (0.4593, 0.7549, 0.3183, 33),
    25: (0.4716, 0.7591, 0.3269, 41),
    50: (0.4469, 0.7425, 0.3079, 66),
}
# RE-GCN's paper: relation prediction, raw, both directions, with the history rolling on.
PRINTED_FORECASTS = {"icews14": 0.4106, "icews05-15": 0.4063}
