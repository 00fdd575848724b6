import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from apptek.facts.facts import Dataset
    from apptek.predictor import Predictor
    from apptek.server.served_model import ServedModel

ROOT = Path(__file__).parents[1]

# Commands that the tests start inherit it.
os.environ.setdefault("NUMBA_CACHE_DIR", str(ROOT / ".numba_cache"))
# What else of the environment would change what commands print and whom they reach.
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

# Modules that fit many models or start many processes: the quick tier leaves them out.
GATE = {
    "test_audit", "test_backtest", "test_baselines_learned", "test_baselines_models",
    "test_candidate_features", "test_compare", "test_contest", "test_databases",
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

# The gate tries the same examples each time; the slow tier draws new ones.
settings.register_profile("gate", deadline=None, derandomize=True)
settings.register_profile("random", deadline=None, max_examples=300, print_blob=True)
settings.load_profile("gate")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of modules that the quick tier leaves out, and run these modules first.

    A worker takes whole modules: with the long ones first, both end at about the same time.
    """
    for item in items:
        if item.path.stem in GATE:
            item.add_marker(pytest.mark.gate)
    items.sort(key=lambda item: item.get_closest_marker("gate") is None)


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """Lets torch compute in one thread during a module: small networks are faster so."""
    from apptek.extras import one_torch_thread

    with one_torch_thread():
        yield


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small planted world."""
    from apptek.synthetic.world import (  # not before numba's folder is set
        make_world,
        write_world,
    )

    folder = tmp_path_factory.mktemp("data") / "world"
    write_world(make_world(600, 0), folder)
    return folder


@pytest.fixture(scope="session")
def shared_model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Path]]:
    """The folder of a model that tests share, by its name in `fitted_models.FITS`."""
    from fitted_models import fitted_model  # not before numba's folder is set

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
def predictor(default_model: Path) -> "Predictor":
    """That model; a module that tests another one has its own fixture of this name."""
    from apptek.predictor import Predictor

    return Predictor.load(default_model)


@pytest.fixture(scope="module")
def data(predictor: "Predictor") -> "Dataset":
    """The data set of the module's predictor."""
    return predictor.model.dataset


@pytest.fixture(scope="session")
def served_model(shared_model: Callable[[str], Path]) -> Path:
    """The folder of a model of the paper's preset."""
    return shared_model("topologies")


@pytest.fixture(scope="session")
def forecast_model(shared_model: Callable[[str], Path]) -> Path:
    """The folder of a model that was fitted on the first facts of a world, and holds all."""
    return shared_model("forecast")


@pytest.fixture(scope="session")
def explored_model(shared_model: Callable[[str], Path]) -> Path:
    """The folder of a model with both views that makes forecasts: what the page shows most of."""
    return shared_model("explored")


@pytest.fixture(scope="session")
def explored_query(explored_model: Path) -> dict[str, str]:
    """A query to it in the middle of the time whose first reason has facts."""
    from apptek.predictor import Predictor, Query

    predictor = Predictor.load(explored_model)
    data = predictor.model.dataset
    for row in range(300, len(data.train)):
        ends = (data.train.subjects[row], data.train.objects[row])
        subject, object_ = (data.entities[int(end)] for end in ends)
        time = data.axis.format(int(data.train.times[row]))
        found = predictor.explain(Query(subject, object_, time))
        if len(found.reasons) > 1 and found.reasons[0].facts and found.against:
            return {"subject": subject, "object": object_, "time": time}
    raise AssertionError("no such query")


@pytest.fixture(scope="module")
def explored_address(explored_model: Path) -> Iterator[str]:
    """Where a service of that model answers."""
    from http_clients import running_service

    with running_service(explored_model) as service:
        yield service.address


@pytest.fixture(scope="session")
def served(served_model: Path) -> "ServedModel":
    """The model as the service holds it."""
    from apptek.server.served_model import ServedModel

    return ServedModel.open(served_model)


@pytest.fixture(scope="session")
def forecasting(forecast_model: Path) -> "ServedModel":
    """A model that makes forecasts, as the service holds it."""
    from apptek.server.served_model import ServedModel

    return ServedModel.open(forecast_model)


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    """A real browser, for the tests of the page."""
    from browser_pages import CHROMIUM, FLAGS
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def open_model(
    browser: "Browser", tmp_path: Path
) -> Iterator[Callable[["Predictor"], tuple["Page", str]]]:
    """Serves a model: a page in which no error may occur, and the address of the service."""
    from browser_pages import fresh_page
    from http_clients import running_service

    with ExitStack() as stack:

        def opened(predictor: "Predictor") -> tuple["Page", str]:
            predictor.save(tmp_path / "model")
            service = stack.enter_context(running_service(tmp_path / "model"))
            return stack.enter_context(fresh_page(browser)), service.address

        yield opened
