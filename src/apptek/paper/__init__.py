"""The paper's method: an agent explores a temporal knowledge graph from both ends of a query.

    from apptek.paper import Agent, DecisionProcess, Environment, mine, walk

The table shows where each part of the paper is implemented, and which test checks it:

3.1 Preliminaries
    facts (u, r, v, t), a query (u, ?, v, t)    apptek.facts           tests/test_protocols.py
3.2 MDP formulation
    N_tknn, |t_q - t_p| < Delta tknn            graph/tknn.py          tests/test_graph.py
    core c_x (Eq. 7): c_0 empty, then the facts of p_x with r = a
                                                episode_kernels._move_to_core
    periphery p_x (Eq. 3): N_tknn of the entities in c_x, without c_x
                                                episode_kernels._add_neighbours
    state S = c_u + p_u + c_v + p_v             Environment.side, .states
    actions A = rel(p_u + p_v)                  Environment.legal
    transition: both sides by one action        episode_kernels.advance
    reward (Eq. 8): ent(c_u) and ent(c_v) meet  episode_kernels.sides_meet
                                                all: tests/test_environment.py
    sequences -> m binary features              topologies.mine, application.apply_topologies
                                                tests/test_topologies.py
    linear layer + softmax                      models.linear_softmax  tests/test_classifier.py
3.3 Model architecture
    psi(r), xi(t), X_s = rows psi || xi         Fingerprint.encode     tests/test_fingerprint.py
    Phi(s_x) = max over rows of MLP(X_s)        states.pool_maxima
    q(s, a) = MLP(Phi(s_u) || Phi(s_v))         fingerprint.QNetwork   tests/test_q_network.py
    mask Omega                                  Environment.legal
    masked values f_Omega                       fingerprint.masked_argmax,
                                                update_kernels.best_values
    L(theta) = E[(r + gamma max q - q)^2]       dqn.Learner.learn, dqn.td_targets
                                                                       tests/test_dqn.py
    replay memory D                             Replay                 tests/test_replay.py
    epsilon-greedy training                     Trainer                tests/test_training.py

4 Tables and figures: reproduce.py, figures.py. Every deviation is listed in docs/deviations.md.
"""

from itertools import chain

from apptek import lazy_names

_MODULES = {
    "apptek.paper.agent": ("Agent",),
    "apptek.paper.environment": ("DecisionProcess", "Environment", "Episodes", "play"),
    "apptek.paper.fingerprint": ("Fingerprint", "QNetwork"),
    "apptek.paper.dqn": ("Learner", "Replay"),
    "apptek.paper.gym": ("TemporalGraphEnv", "TemporalGraphVectorEnv"),
    "apptek.paper.features": ("Topologies", "topologies_of"),
    "apptek.paper.trainer": ("Trainer",),
    "apptek.paper.application": ("apply_topologies",),
    "apptek.paper.connection": ("connect", "replay", "walk"),
    "apptek.paper.topologies": ("mine", "topology_set"),
}
__all__ = list(chain.from_iterable(_MODULES.values()))
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
