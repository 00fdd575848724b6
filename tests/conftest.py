import os
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from database_servers import PostgresServer
    from playwright.sync_api import Browser

    from apptek.facts.facts import Dataset
    from apptek.predictor import Predictor
    from apptek.server.served_model import ServedModel

ROOT = Path(__file__).parents[1]

# Commands started by tests inherit it.
os.environ.setdefault("NUMBA_CACHE_DIR", str(ROOT / ".numba_cache"))
# Other environment variables that would change the output of commands or their connections.
os.environ["COLUMNS"] = "120"
os.environ["no_proxy"] = os.environ["NO_PROXY"] = "127.0.0.1,localhost"
for _name in (
    "FORCE_COLOR",
    "PY_COLORS",
    "GITHUB_ACTIONS",
    "TTY_COMPATIBLE",
    "TTY_INTERACTIVE",
    "APPTEK_TOKEN",
):
    os.environ.pop(_name, None)

# Modules that fit many models or start many processes; the quick tier skips them.
GATE = {
    "test_audit", "test_baselines_learned", "test_baselines_models",
    "test_candidate_features", "test_compare", "test_databases",
    "test_daily", "test_default_model", "test_dqn",
    "test_engine", "test_evaluator", "test_exact_reasons", "test_faithfulness",
    "test_forecast", "test_forecasting", "test_frames", "test_golden",
    "test_large_data", "test_leads", "test_mcp", "test_model_commands", "test_mutations",
    "test_occurrence", "test_page_data", "test_predicate_classes", "test_predictor",
    "test_partners", "test_quality", "test_reading_as_meant", "test_recalibration",
    "test_reproduce", "test_reranking", "test_rules", "test_service_contract", "test_service_lists",
    "test_service_network", "test_service_safety", "test_support", "test_suppose",
    "test_answer_tables", "test_update", "test_views", "test_what_if",
}  # fmt: skip

# The gate uses the same examples each time; the slow tier draws new ones.
settings.register_profile("gate", deadline=None, derandomize=True)
settings.register_profile("random", deadline=None, max_examples=300, print_blob=True)
settings.load_profile("gate")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests in modules that the quick tier skips, and run these modules first.

    A worker takes whole modules: if long ones run first, both workers finish at about the same
    time.
    """
    for item in items:
        if item.path.stem in GATE:
            item.add_marker(pytest.mark.gate)
    items.sort(key=lambda item: item.get_closest_marker("gate") is None)


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """Restrict torch to one thread during a module, which is faster for small networks."""
    from apptek.extras import one_torch_thread

    with one_torch_thread():
        yield


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small synthetic dataset."""
    from apptek.synthetic.world import (  # only after numba's folder is set
        make_world,
        write_world,
    )

    folder = tmp_path_factory.mktemp("data") / "world"
    write_world(make_world(600, 0), folder)
    return folder


@pytest.fixture(scope="session")
def shared_model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Path]]:
    """The folder of a model that tests share, by its name in `fitted_models.FITS`."""
    from fitted_models import fitted_model  # only after numba's folder is set

    from apptek.models.manifest import verify_folder

    base, used = tmp_path_factory.getbasetemp(), dict[str, Path]()
    shelf = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def model(name: str) -> Path:
        used.setdefault(name, fitted_model(name, shelf))
        return used[name]

    yield model
    for folder in used.values():
        verify_folder(folder)  # a test that wrote to a shared model fails here


@pytest.fixture(scope="session")
def default_model(shared_model: Callable[[str], Path]) -> Path:
    """The folder of a model with the default settings."""
    return shared_model("default")


@pytest.fixture(scope="module")
def predictor(request: pytest.FixtureRequest, shared_model: Callable[[str], Path]) -> "Predictor":
    """The shared model that a module names as MODEL, or the one with the default settings.

    With PAST_ONLY, every answer uses only the facts before its query.
    """
    from apptek.predictor import Predictor

    folder = shared_model(getattr(request.module, "MODEL", "default"))
    return Predictor.load(folder, past_only=getattr(request.module, "PAST_ONLY", False))


@pytest.fixture(scope="module")
def data(predictor: "Predictor") -> "Dataset":
    """The data set of the module's predictor."""
    return predictor.model.dataset


@pytest.fixture(scope="session")
def served_model(shared_model: Callable[[str], Path]) -> Path:
    """The folder of a model with the `paper` preset."""
    return shared_model("topologies")


@pytest.fixture(scope="session")
def forecast_model(shared_model: Callable[[str], Path]) -> Path:
    """The folder of a model that was fitted on a dataset's first facts and contains all facts."""
    return shared_model("forecast")


@pytest.fixture(scope="session")
def explored_model(shared_model: Callable[[str], Path]) -> Path:
    """The folder of a model with both views and forecasts, which uses most of the page."""
    return shared_model("explored")


@pytest.fixture(scope="session")
def query(explored_model: Path) -> dict[str, str]:
    """A query in the middle of the time span whose first reason has facts."""
    from plain_queries import query_about

    from apptek.predictor import Predictor

    predictor = Predictor.load(explored_model)
    data = predictor.model.dataset
    for row in range(300, len(data.train)):
        query = query_about(data, data.train, row)
        found = predictor.explain(query)
        if len(found.reasons) > 1 and found.reasons[0].facts and found.against:
            return asdict(query)
    raise AssertionError("no such query")


@pytest.fixture(scope="module")
def address(explored_model: Path) -> Iterator[str]:
    """The address of a service for that model."""
    from http_clients import running_service

    with running_service(explored_model) as service:
        yield service.address


@pytest.fixture(scope="session")
def served(served_model: Path) -> "ServedModel":
    """The model as served."""
    from apptek.server.served_model import ServedModel

    return ServedModel.open(served_model)


@pytest.fixture(scope="session")
def forecasting(forecast_model: Path) -> "ServedModel":
    """A served model that makes forecasts."""
    from apptek.server.served_model import ServedModel

    return ServedModel.open(forecast_model)


@pytest.fixture(scope="module")
def server() -> Iterator["PostgresServer"]:
    """A PostgreSQL server; its tests are skipped if it is not installed."""
    from database_servers import postgres_server

    with postgres_server() as started:
        yield started


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    """A real browser for testing the page."""
    from browser_pages import CHROMIUM, FLAGS
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()
