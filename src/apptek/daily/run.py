"""A daily run: read, update or fit, score, forecast, and write everything at the end.

Nothing changes until everything is computed. Then files are written under temporary names, database
rows are written within transactions, and the model is saved. Finally, all files are renamed. If a
run fails, the model and outputs are unchanged. If it is killed during the final step, some outputs
may have been saved. Running it again gives the same model and outputs without duplicate rows,
because the run's date is the key of everything it stores.
"""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, chdir, contextmanager, nullcontext, suppress
from dataclasses import replace
from datetime import UTC, datetime
from glob import escape
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from apptek.daily.project import Project, read_project
from apptek.daily.scores import SCORE, Score, file_name, forecast_table, in_time, score_runs
from apptek.databases import Database, find_database
from apptek.errors import ApptekError, ConfigError, DataError, ModelError, NoFactsError
from apptek.facts.calendar import position
from apptek.facts.facts import Dataset, join_facts
from apptek.facts.times import UNKNOWN, TimeAxis
from apptek.files import (
    check_new_folder,
    check_target,
    is_model,
    make_folder,
    new_file,
    sole_writer,
    writing,
)
from apptek.forecast.forecaster import read_filter
from apptek.forecast.pair_chances import parse_rule, read_pairs, read_rule, watched_entities
from apptek.forecast.window import time_of, unit_word
from apptek.models.manifest import RUN, read_json
from apptek.models.model import Model
from apptek.models.model_folder import load_model, save_model
from apptek.models.registry import model_settings
from apptek.models.updating import unobserved_facts, update_model
from apptek.predictor import Predictor
from apptek.present.tables import SUFFIXES, TABLES, check_suffix, json_text, staged, to_arrow
from apptek.present.template import render
from apptek.reading.reader import read_dataset, read_more
from apptek.research.provenance import about_run, finished_at, with_update
from apptek.results import WatchList, to_dict
from apptek.safe_text import counted
from apptek.setting_rules import with_settings
from apptek.terminal import tell

Fields = dict[str, Any]
WATCH = ".watch.json"  # the file suffix of a stored watch list
ALERTS = pa.schema(
    [(name, pa.string()) for name in ("rule", "subject", "object", "sentence")]
    + [("value", pa.float64())]
)


def run_project(
    path: Path,
    log: Callable[[str], None],
    *,
    observed_until: str | None = None,
    refit: bool = False,
    dry_run: bool = False,
) -> WatchList | None:
    """Perform a daily run. Each step logs a line of JSON.

    observed_until  the last observed time, by default the current time minus the delay
    refit           whether to fit the model again on all facts in the source
    dry_run         only log the plan, based on the current source and model
    """
    project = read_project(path)
    with chdir(path.absolute().parent), ExitStack() as stack:
        with _wrong_project(path):
            _check(project)
        if dry_run:
            log(_Run(project, path, refit=refit).plan(observed_until))
            return None
        with writing(project.state):
            make_folder(project.state)
        for folder in (project.state, Path(project.model.folder)):
            stack.enter_context(sole_writer(folder) if folder.exists() else nullcontext())
        _remove_left(project)
        run = _Run(project, path, refit=refit)
        with run.step("read", log) as fields:
            data = run.read(observed_until, fields)
        with run.step("update" if run.model else "fit", log) as fields:
            predictor = run.update(data, fields) if run.model else run.fit(data, fields)
            if observed_until is None and (warning := _silence_warning(predictor.model)):
                fields["warning"] = warning
                tell(f"warning: {warning}")
        with run.step("score", log) as fields:
            score = score_runs(predictor.forecaster, project.state)
            fields |= {"runs": score.scored, "refit_due": bool(score.refit)}
            if (every := score.groups.get("all")) is not None:
                fields |= {"brier": every.brier, "log_loss": every.log_loss}
        with run.step("forecast", log) as fields:
            run.check_watch(predictor)
            listed, forecasts = run.forecast(predictor)
            fields |= {"first": listed.first, "last": listed.last, "pairs": len(forecasts)}
            fields |= {"listed": len(listed.rows), "alerts": len(listed.alerts)}
        with run.step("write", log) as fields:
            fields["written"] = run.write(predictor, score, listed, forecasts)
        return listed


def _counting_once(model: Model, fresh: Dataset) -> Model:
    """Return a model whose last update counts unknown predicates only in facts of this run.

    Every run reads the whole source, so an earlier run has counted the others.
    """
    *earlier, last = model.updates
    counts = Counter(fresh.predicates[number] for number in fresh.train.predicates.tolist())
    unknown = {name: counts[name] for name in last["unknown_predicates"] if counts[name]}
    return replace(model, updates=(*earlier, {**last, "unknown_predicates": unknown}))


@contextmanager
def _wrong_project(path: Path) -> Iterator[None]:
    """Convert errors in the values of a project file into one error type."""
    try:
        yield
    except ConfigError:
        raise
    except ApptekError as error:
        raise ConfigError(f"{path}: {error}") from None


def _remove_left(project: Project) -> None:
    """Remove temporary files from runs that were killed."""
    outputs = [*project.outputs.watch, *project.outputs.alerts, project.outputs.page]
    files = [target for target in map(_target, outputs) if isinstance(target, Path)]
    for file in files:
        for left in file.parent.glob(f".{escape(file.name)}-{'[0-9a-f]' * 8}"):
            left.unlink()
    for left in project.state.glob(".*"):
        left.unlink()


def _target(text: str) -> Path | Database:
    return find_database(text) or Path(text)


def _check(project: Project) -> None:
    """Raise an error early for anything that would fail at the end of a run."""
    watch, outputs, folder = project.watch, project.outputs, Path(project.model.folder)
    if not is_model(folder):
        check_new_folder(folder)
    for rule in watch.alerts:
        parse_rule(rule)
    pairs = None if watch.pairs is None else _target(watch.pairs)
    if isinstance(pairs, Path) and not pairs.is_file():
        raise DataError(f"{pairs}: no such file; see `pairs` in [watch]")
    for texts, suffixes in ((outputs.watch, SUFFIXES), (outputs.alerts, TABLES)):
        for target in map(_target, texts):
            check_suffix(target, suffixes)
            if isinstance(target, Path):
                check_target(target)
    check_target(Path(outputs.page))


class _Run:
    """One run of a project in the current folder; `day` is its date."""

    def __init__(self, project: Project, path: Path, *, refit: bool) -> None:
        self.project, self.path, self.day = project, path, ""
        self.folder = Path(project.model.folder)
        self.model: Model | None = None
        self.exists, self.changed, self.about = is_model(self.folder), True, Fields()
        if not self.exists:
            return
        self.about = read_json(self.folder, RUN)
        owner = self.about.get("project")
        if owner != project.name:
            of = f"belongs to the project {owner!r}" if owner else "was not created by `apptek run`"
            raise ModelError(
                f"{self.folder} {of}, not {project.name!r}: choose another folder in [model]"
            )
        self.model = None if refit else load_model(self.folder)

    @contextmanager
    def step(self, name: str, log: Callable[[str], None]) -> Iterator[Fields]:
        """Log a line of JSON about a step, with its fields or the error that ended it."""
        fields, start = Fields(), time.perf_counter()
        try:
            yield fields
        except BaseException as error:
            fields = {"error": str(error) or type(error).__name__}
            raise
        finally:
            line: Fields = {"time": finished_at(), "project": self.project.name, "run": self.day}
            line |= {"step": name, "seconds": round(time.perf_counter() - start, 3)}
            log(json.dumps(line | to_dict(fields), ensure_ascii=False))

    def read(self, observed_until: str | None, fields: Fields) -> Dataset | None:
        """Read the facts up to the observed end, and set the date of the run.

        Return None if there are none, such as on a day without events.
        """
        source, model, data = self.project.source, self.model, None
        database = find_database(source.data)
        fields["source"] = str(database) if database else source.data
        if model is None:
            data = read_dataset(source.data, **source.changed())
            axis, known = data.axis, UNKNOWN
        else:
            axis, known = model.dataset.axis, model.last_observed or 0
            since = time_of(axis, known + 1 - source.late) if database else ""
            with suppress(NoFactsError):
                data = read_more(model.dataset, source.data, **source.changed() | {"since": since})
        end = _observed_end(axis, data, observed_until, source.delay)
        self.day = time_of(axis, end)
        if end < known:
            which = "--observed-until is" if observed_until else "the run is for today,"
            raise DataError(
                f"{which} {self.day}, but the model's data runs through {time_of(axis, known)}: "
                "a run cannot go back in time"
            )
        data = None if data is None else _facts_until(data, end)
        times = np.zeros(0, np.int32) if data is None else data.all_facts().times
        last = axis.position(int(times.max())) if len(times) else None
        fields |= {"facts": len(times), "last_fact": None if last is None else time_of(axis, last)}
        is_old = last is None or (observed_until is None and _is_old(axis, times, end))
        if model is None and is_old:
            found = (
                f"the last fact is from {fields['last_fact']}"
                if len(times)
                else "all facts are later"
            )
            raise DataError(
                f"the run is for {self.day}, but {found}: give --observed-until, or change the "
                "delay in [source]"
            )
        return data

    def fit(self, data: Dataset | None, fields: Fields) -> Predictor:
        """Fit and return a new model."""
        chosen = self.project.model
        config = with_settings(model_settings(chosen.preset), chosen.set)
        fitted = Predictor.fit(
            data, model=chosen.preset, config=config, seed=chosen.seed, types=chosen.types,
            predicates=chosen.predicates, aliases=chosen.aliases, final=True,
            observed_until=self.day, about_run={"project": self.project.name, **about_run()},
        )  # fmt: skip
        fields["facts"] = len(fitted.model.graph.facts)
        return Predictor(fitted.model, fitted.run, past_only=True)

    def update(self, data: Dataset | None, fields: Fields) -> Predictor:
        """Return the model with the new facts, observed up to the date of the run."""
        assert self.model is not None
        model, report = update_model(self.model, data, None, self.day)
        if data is not None and report.unknown_predicates:
            model = _counting_once(model, unobserved_facts(data, self.model))
        fields |= to_dict(report) | {"unknown_predicates": sum(report.unknown_predicates.values())}
        self.changed = bool(report.added) or self.model.last_observed != model.last_observed
        if not self.changed:
            return Predictor(self.model, self.about, past_only=True)
        return Predictor(model, with_update(self.about, self.folder), past_only=True)

    def plan(self, observed_until: str | None) -> str:
        """Return what the run would do."""
        about, report = Fields(), Fields()
        data = self.read(observed_until, about)
        if self.model is not None:
            self.check_watch(self.update(data, report))
        about |= {"run": self.day, "report": report}
        watch, outputs = self.project.watch, self.project.outputs
        about["stored"] = len(list(self.project.state.glob("*.parquet")))
        about["outputs"] = [*map(_target, (*outputs.watch, *outputs.alerts)), outputs.page]
        about["what"] = (
            str(_target(watch.pairs)) if watch.pairs else f"the {watch.top} pairs that change most"
        )
        return render("plan.txt.j2", project=self.project, **about)

    def check_watch(self, predictor: Predictor) -> None:
        """Raise an error for a window, filter or alert that the model does not support."""
        watch, forecaster = self.project.watch, predictor.forecaster
        with _wrong_project(self.path):
            forecaster.window(None, watch)
            event = read_filter(forecaster, watch.predicate, watch.class_, watch.group)
            watched_entities(forecaster, watch.entity, watch.country)
            for rule in watch.alerts:
                read_rule(forecaster, rule, event)

    def forecast(self, predictor: Predictor) -> tuple[WatchList, pa.Table]:
        """Return the watch list, compared with the previous run's list, and all forecasts."""
        watch, pairs = self.project.watch, None
        if watch.pairs is not None:
            pairs, _ = read_pairs(_target(watch.pairs), predictor.answerer.entities)
        names = [file.name for file in self.project.state.glob(f"*{WATCH}")]
        before = [in_time(n) for n in names if in_time(n) < in_time(file_name(self.day, WATCH))]

        def listed_since(since: Path | None) -> WatchList:
            return predictor.watch(
                pairs, most=watch.top, entity=watch.entity, country=watch.country,
                predicate=watch.predicate, class_=watch.class_, group=watch.group,
                alerts=watch.alerts, since=since, **watch.length(),
            )  # fmt: skip

        try:
            listed = listed_since(self.project.state / max(before)[1] if before else None)
        except DataError:  # a list with other events or another window length
            listed = listed_since(None)
        window = predictor.forecaster.window(None, watch)
        return listed, forecast_table(predictor.forecaster, window, self.day, listed)

    def write(
        self, predictor: Predictor, score: Score, listed: WatchList, forecasts: pa.Table
    ) -> list[str]:
        """Write everything, including the model, and rename it into place together."""
        outputs, state = self.project.outputs, self.project.state
        page = render("score.html.j2", layout="page.html.j2", score=score, project=self.project)
        sink = pa.BufferOutputStream()
        parquet.write_table(forecasts, sink, compression="zstd")
        files = {
            state / file_name(self.day): sink.getvalue().to_pybytes(),
            state / file_name(self.day, WATCH): json_text(listed).encode(),
            state / SCORE: json_text(score).encode(),
            Path(outputs.page): page.encode(),
        }
        alerts = pa.Table.from_pylist([to_dict(each) for each in listed.alerts], ALERTS)
        tables = [(_target(text), listed, to_arrow(listed)) for text in outputs.watch]
        tables += [(_target(text), alerts, alerts) for text in outputs.alerts]
        with ExitStack() as stack:  # the last entered is written first: databases, then forecasts
            for target, result, _ in tables:
                if isinstance(target, Path):
                    stack.enter_context(staged(target, result, "watch"))
            for path, content in reversed(files.items()):
                temporary = stack.enter_context(new_file(path))
                with writing(path):
                    temporary.write_bytes(content)
            connections = Fields()  # by URL: tables in the same database share a transaction
            for target, _, table in tables:
                if isinstance(target, Path):
                    continue
                if target.url not in connections:
                    connections[target.url] = stack.enter_context(target.transaction())
                target.appender(connections[target.url], self.day)(table)
            if self.changed:
                target = self.folder.resolve()  # keep a symbolic link
                save_model(predictor.model, target, predictor.run, in_place=self.exists)
        return [*map(str, files), *(str(target) for target, *_ in tables)]


def _observed_end(axis: TimeAxis, data: Dataset | None, stated: str | None, delay: int) -> int:
    """Return the last observed position: as given, by the clock (UTC), or from the last fact."""
    if stated is not None:
        if (code := axis.parse(stated)) == UNKNOWN:
            raise DataError(f"--observed-until {stated}: expected {axis.expected}")
        return axis.position(code)
    if axis.unit != "integer":
        now = datetime.now(UTC)
        second = now.hour * 3600 + now.minute * 60 + now.second
        return int(position(axis.unit, now.year, now.month, now.day, second)) - delay
    if data is None:
        raise DataError("there are no new facts, and times are numbers: give --observed-until")
    return int(data.all_facts().times.max())


def _silence_warning(model: Model) -> str:
    """Return a warning if the last fact is further back than the longest fitted window."""
    positions, observed, axis = model.positions, model.last_observed, model.dataset.axis
    if model.occurrence is None or observed is None or not len(positions):
        return ""
    last, longest = int(positions[-1]), model.occurrence.longest
    if observed - last <= longest:
        return ""
    unit = unit_word(axis.unit)
    return (
        f"the last fact is from {time_of(axis, last)}, {counted(observed - last, unit)} before "
        f"{time_of(axis, observed)}, the day of the run; the longest fitted window is "
        f"{counted(longest, unit)}. Later runs cannot go back: for old data, remove the model and "
        "give --observed-until"
    )


def _facts_until(data: Dataset, end: int) -> Dataset | None:
    """Return the facts up to a position, or None if there are none."""
    train, valid, test = (
        facts.take(data.axis.positions(facts.times) <= end)
        for facts in (data.train, data.valid, data.test)
    )
    if not len(train):  # for a small update, the split does not matter
        train, valid, test = join_facts(train, valid, test), train, train
    return replace(data, train=train, valid=valid, test=test) if len(train) else None


def _is_old(axis: TimeAxis, times: Any, end: int) -> bool:
    """Return whether the facts ended longer ago than the time span that they cover."""
    positions = axis.positions(times[times != UNKNOWN])
    return bool(end - positions.max() > np.ptp(positions) + 1)
