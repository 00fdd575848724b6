"""The paper's method as a package of its own: its page, its agent in a folder, its environment."""

import re
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fitted_models import SharedModel
from typer.testing import CliRunner

import apptek.paper
from apptek.cli import app
from apptek.config import FEATURE_PARTS, AgentConfig, Config, FeaturesConfig
from apptek.errors import ApptekError, ConfigError
from apptek.facts.facts import Dataset
from apptek.facts.queries import Queries
from apptek.features import space
from apptek.features.space import FamilyFit, FeatureFamily, Found, register_features
from apptek.graph.temporal_graph import TemporalGraph
from apptek.paper import Agent, DecisionProcess, walk
from apptek.paper.agent import DATA, WEIGHTS, check_agent
from apptek.paper.features import mined_topologies
from apptek.predictor import Predictor
from apptek.ragged import Ragged
from apptek.research import check_feature_part
from apptek.synthetic.world import make_world, write_world

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, flags=re.S)
pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A small world, and an agent that the command trained on it."""
    root = tmp_path_factory.mktemp("paper")
    write_world(make_world(400, 0), root / "world")
    told = run("paper", "train", str(root / "world"), "--out", str(root / "agent"),
               "--set", "agent.tknn=5", "--set", "agent.epochs=0.2")  # fmt: skip
    assert "commonest" in told
    return root / "world", root / "agent"


def run(*words: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, list(words))
    assert result.exit_code == code, result.output
    return result.output


def a_query(world: Path) -> list[str]:
    subject, _, object_, time = (
        (world / "test.tsv").read_text("utf-8").splitlines()[2].split("\t")[:4]
    )
    return [subject, object_, time]


def test_the_walk_through_the_paper_names_functions_and_tests_that_exist() -> None:
    walk_through = apptek.paper.__doc__ or ""
    for test in re.findall(r"tests/\w+\.py", walk_through):
        assert (ROOT / test).is_file(), test
    named = re.findall(r"\b(\w+)\.(\w+)\b", walk_through)
    found = [
        (home, name)
        for home, name in named
        if (ROOT / "src/apptek/paper" / f"{home}.py").is_file() and name != "py"
    ]
    for home, name in found:
        assert hasattr(import_module(f"apptek.paper.{home}"), name), (home, name)
    assert len(found) >= 8
    for home, name in named:
        if home in apptek.paper.__all__:
            assert hasattr(getattr(apptek.paper, home), name), (home, name)


def test_the_examples_of_the_page_run() -> None:
    names: dict[str, Any] = {}
    for block in BLOCKS[:-1]:
        exec(compile(block, "docs/paper.md", "exec"), names)
    assert names["features"].width == len(names["topologies"]) > 0


@pytest.mark.slow
def test_reinforce_learns_in_the_vector_environment() -> None:
    pytest.importorskip("gymnasium")
    names: dict[str, Any] = {}
    for block in (BLOCKS[0], BLOCKS[-1]):
        exec(compile(block, "docs/paper.md", "exec"), names)
    assert len(BLOCKS[-1].splitlines()) <= 60
    assert np.mean(names["rewards"][-500:]) > np.mean(names["rewards"][:500])


def test_an_agent_is_played_step_by_step(folders: tuple[Path, Path], tmp_path: Path) -> None:
    world, agent = folders
    page = tmp_path / "episode.html"
    told = run("paper", "play", str(agent), *a_query(world), "--html", str(page))
    assert "Step 1" in told
    assert "legal actions" in told
    assert "The sides" in told
    drawn = page.read_text(encoding="utf-8")
    assert "<svg" in drawn
    assert "Q-value" in drawn


@pytest.mark.parametrize("page", ["README.md", "docs/paper.md"])
def test_the_small_world_has_the_names_that_the_pages_play(page: str) -> None:
    told = re.search(
        r"make-world icews14.*?(\w+) (\w+) (\d{4}-\d\d-\d\d)`", (ROOT / page).read_text("utf-8")
    )
    assert told is not None
    subject, object_, time = told.groups()
    data = make_world(20_000, 0).dataset  # as `data make-world` makes it
    query = [data.entities.find(subject), data.entities.find(object_), data.axis.parse(time), -1]
    asked = Queries(*(np.asarray([value], np.int32) for value in query))
    process = DecisionProcess(TemporalGraph.of(data), AgentConfig())
    assert "Consult" in data.predicates
    assert walk(process, asked).steps


def test_a_walk_is_the_greedy_episode(folders: tuple[Path, Path]) -> None:
    agent, data = Agent.load(folders[1])
    queries = agent.process.training_queries().take(slice(0, 20))
    episodes = agent.play(queries)
    for row in range(20):
        played = walk(agent.process, queries.take(np.asarray([row])), agent)
        trail = episodes.trail[row]
        assert played.actions == tuple(trail[trail >= 0].tolist())
        assert played.met == episodes.met[row]
        for step in played.steps:
            assert step.chosen == max(step.actions, key=lambda each: each[2] or 0.0)[0]
            for side in step.added:
                assert set(data.train.predicates[side].tolist()) <= {step.chosen}


def test_a_fit_with_an_agent_does_not_train_again(
    folders: tuple[Path, Path], tmp_path: Path
) -> None:
    world, agent = folders
    same = ("--set", "agent.tknn=5", "--set", "agent.epochs=0.2", "--set", "classifier.epochs=1")
    told = run("fit", str(world), "--model", "paper", "--agent", str(agent), *same,
               "--out", str(tmp_path / "model"))  # fmt: skip
    assert "train the agent" not in told
    model = Predictor.load(tmp_path / "model").model
    assert model.added[0].files()[WEIGHTS] == (agent / WEIGHTS).read_bytes()


def test_mined_topologies_come_with_their_counts_and_weights(shared_model: SharedModel) -> None:
    model = Predictor.load(shared_model("topologies")).model
    part, weights = model.added[0], model.main.classifier.weights
    names = model.dataset.predicates
    listed = mined_topologies(model, range(len(names)), 3)
    seen = 0
    for row, name in enumerate(names):
        tried = int((model.dataset.train.predicates == row).sum()) * model.config.mining.rollouts
        for mined in listed[name]:
            (column,) = [c for c in range(len(part)) if part.names(c) == tuple(mined["topology"])]
            assert mined["weight"] == weights[column, row]
            assert mined["share"] == mined["connected"] / tried
            assert f"| {name} |" in mined["examples"][0]
            seen += 1
        connected = [mined["connected"] for mined in listed[name]]
        assert connected == sorted(connected, reverse=True)
    assert seen > len(names)


def test_bad_input_gives_one_clear_line(folders: tuple[Path, Path], tmp_path: Path) -> None:
    world, agent = folders
    subject, object_, time = a_query(world)
    play = ("paper", "play", str(agent))
    assert "subject and object are the same" in one_line(*play, subject, subject, time)
    assert "'Nobody' is not in this data" in one_line(*play, subject, "Nobody", time)
    assert "contains no trained agent" in one_line(
        "paper", "play", str(world), subject, object_, time
    )
    fit = ("fit", str(world), "--model", "paper", "--out", str(tmp_path / "model"))
    said = one_line(*fit, "--agent", str(agent))
    assert "was trained with agent.tknn=5, agent.epochs=0.2" in said
    assert not (tmp_path / ".model-fit").exists()
    write_world(make_world(400, 1), tmp_path / "other")
    moved = one_line(*play, subject, object_, time, "--data", str(tmp_path / "other"))
    assert "was trained on different facts" in moved
    with pytest.raises(ApptekError, match="trained on different facts from the model's"):
        check_agent(agent, AgentConfig(), "0")


def test_a_query_without_facts_has_no_step(tmp_path: Path) -> None:
    facts = [f"{a}\tmet\t{b}\t2014-01-{day:02}" for day in range(1, 20) for a, b in ("AB", "BC")]
    for split, rows in (
        ("train", facts),
        ("valid", facts[:2]),
        ("test", ["D\tmet\tE\t2014-01-03"]),
    ):
        (tmp_path / f"{split}.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    run("paper", "train", str(tmp_path), "--out", str(tmp_path / "agent"))
    said = one_line("paper", "play", str(tmp_path / "agent"), "D", "E", "2014-01-03")
    assert said == "neither D nor E has training facts, so there are no steps"


def one_line(*words: str) -> str:
    result = CliRunner().invoke(app, list(words))
    assert result.exit_code != 0
    assert isinstance(result.exception, ApptekError), result.output
    assert "\n" not in str(result.exception)
    return str(result.exception)


def test_the_folder_of_an_agent_names_its_data(folders: tuple[Path, Path]) -> None:
    world, agent = folders
    assert str(world.resolve()) in (agent / DATA).read_text(encoding="utf-8")
    trained, data = Agent.load(agent)
    assert trained.process.config == AgentConfig(tknn=5, epochs=0.2)
    assert data.name == "world"


def test_gymnasium_accepts_the_environment() -> None:
    pytest.importorskip("gymnasium")
    from gymnasium.utils.env_checker import check_env

    from apptek.paper import TemporalGraphEnv

    data = make_world(300, 0).dataset
    env = TemporalGraphEnv(DecisionProcess(TemporalGraph.of(data), AgentConfig(tknn=5)))
    check_env(env, skip_render_check=True)
    first, info = env.reset(seed=3, options={"query": 4})
    again, same = env.reset(seed=3)
    assert info["query"] == 4
    assert env.observation_space.contains(first)
    assert np.array_equal(info["action_mask"], first[:, 1].sum(axis=0) > 0)
    assert np.array_equal(env.reset(seed=3)[0], again)
    illegal = int(np.flatnonzero(same["action_mask"] == 0)[0])
    for step in range(1, 6):
        observation, reward, terminated, truncated, _ = env.step(illegal)
        assert (reward, terminated, truncated) == (0.0, False, step == 5)
        assert np.array_equal(observation, again)
    with pytest.raises(ApptekError, match="there is no query 999999"):
        env.reset(options={"query": 999999})


def test_the_vector_environment_is_its_episodes_side_by_side() -> None:
    pytest.importorskip("gymnasium")
    from apptek.paper import TemporalGraphEnv, TemporalGraphVectorEnv

    data = make_world(300, 0).dataset
    process = DecisionProcess(TemporalGraph.of(data), AgentConfig(tknn=5))
    rows = [3, 5, 8]
    envs, singles = (
        TemporalGraphVectorEnv(process, num_envs=3),
        [TemporalGraphEnv(process) for _ in rows],
    )
    observation, info = envs.reset(options={"query": rows})
    alone = [env.reset(options={"query": row}) for env, row in zip(singles, rows, strict=True)]
    rng, ended = np.random.default_rng(0), np.zeros(3, np.bool_)
    for _ in range(5):
        for i in np.flatnonzero(~ended):
            assert np.array_equal(observation[i], alone[i][0])
        legal = [np.flatnonzero(mask) for mask in info["action_mask"]]
        actions = np.asarray([rng.choice(each) if len(each) else 0 for each in legal])
        observation, rewards, terminated, truncated, info = envs.step(actions)
        for i in np.flatnonzero(~ended):
            state, reward, over, cut, about = singles[i].step(int(actions[i]))
            alone[i] = state, about
            assert (reward, over, cut) == (rewards[i], terminated[i], truncated[i])
        ended |= terminated | truncated


class Parity:
    """Features of a test: whether a query's subject has an even number, and its object."""

    name = "parity"

    def __init__(self, broken: bool = False) -> None:
        self.broken = broken

    def __len__(self) -> int:
        return 2

    def rows(self, queries: Queries) -> Ragged:
        even = np.column_stack([queries.subjects % 2 == 0, queries.objects % 2 == 0])
        if self.broken:
            even[1:] = False
        offsets = np.concatenate([[0], np.cumsum(even.sum(axis=1))]).astype(np.int64)
        return Ragged(offsets, np.nonzero(even)[1].astype(np.int32), 2)

    def names(self, column: int) -> tuple[str, ...]:
        return (("even subject", "even object")[column],)

    def connection(self, queries: Queries, column: int) -> None:
        return None

    def report(self) -> dict[str, Any]:
        return {}

    def files(self) -> dict[str, bytes]:
        return {"parity.json": b"{}"}

    def on(self, graph: TemporalGraph) -> "Parity":
        return self


@pytest.fixture
def parity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(space, "_REGISTERED", {})
    monkeypatch.setattr("apptek.config.FEATURE_PARTS", known := list(FEATURE_PARTS))
    monkeypatch.setattr(space, "FEATURE_PARTS", known)

    def fit(_: FamilyFit) -> Parity:
        return Parity()

    def load(files: Mapping[str, bytes], _: Found) -> Parity:
        assert files["parity.json"] == b"{}"
        return Parity()

    register_features("parity", FeatureFamily(fit, load))


@pytest.mark.usefixtures("parity")
def test_features_of_one_s_own_are_fitted_saved_and_explained(tmp_path: Path) -> None:
    data: Dataset = make_world(300, 0).dataset
    config = Config(features=FeaturesConfig(parts=("history", "parity")))
    fitted = Predictor.fit(data, config=config, folder=tmp_path / "model")
    loaded = Predictor.load(tmp_path / "model")
    assert loaded.model.space("all_facts").sizes()["parity"] == 2
    query = (data.entities[0], data.entities[2], data.axis.format(int(data.train.times[0])))
    assert fitted.predict([query])[0].probabilities == loaded.predict([query])[0].probabilities
    said = {each.sentence for each in loaded.explain(query).further}
    assert {"parity: even subject", "parity: even object"} <= said


def test_a_family_is_checked() -> None:
    world = make_world(200, 0).dataset
    check_feature_part(Parity(), world)
    with pytest.raises(ApptekError, match="depend on the order of the queries"):
        check_feature_part(Parity(broken=True), world)
    with pytest.raises(ConfigError, match="there are already features 'topologies'"):
        register_features("topologies", space.find_family("topologies"))
    with pytest.raises(ConfigError, match="no installed package adds the features 'sing'"):
        space.find_family("sing")
