"""How models, data and answers show themselves in Python: as text, as frames, in a notebook."""

import copy
import pickle
from dataclasses import replace
from html import escape

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from html_pages import draw_svg, read_page
from plain_queries import queries_about

from apptek import Dataset, Predictor, Splitting, read_dataset
from apptek.errors import ApptekError
from apptek.models.answer_tables import SCHEMA
from apptek.present.drawing import draw_answer
from apptek.results import Query

MODEL = "explored"


@pytest.fixture(scope="module")
def asked(data: Dataset) -> list[Query]:
    """Queries about training facts, so that there are reasons."""
    return queries_about(data, data.train.first(12))


def test_equal_answers_are_equal_and_a_copy_or_a_pickle_loses_nothing(
    predictor: Predictor, asked: list[Query]
) -> None:
    one, again = (predictor.predict(asked[:2], top=3) for _ in range(2))
    assert list(one) == list(again)
    for other in (copy.deepcopy(one[0]), pickle.loads(pickle.dumps(one[0])), replace(one[0])):
        assert other == one[0]
        assert str(other) == str(one[0])


def test_answers_become_a_frame_of_every_kind(predictor: Predictor, asked: list[Query]) -> None:
    answers = predictor.predict(asked[:2], top=3)
    table = answers.to_frame("arrow")
    assert isinstance(table, pa.Table)
    assert table.schema == SCHEMA
    assert table.column("query").to_pylist() == [1, 1, 1, 2, 2, 2]
    assert table.column("predicate").to_pylist() == [p for a in answers for p in a.predicates]
    frame = answers.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame.equals(answers.to_frame("pandas"))
    assert list(frame["probability"]) == [p for a in answers for p in a.probabilities]
    assert isinstance(answers.to_frame("polars"), pl.DataFrame)
    assert answers[1].to_frame("arrow").num_rows == 3
    with pytest.raises(ApptekError, match="a frame of 'numpy': expected pandas, polars or arrow"):
        answers.to_frame("numpy")  # type: ignore[arg-type]


def test_the_parts_of_explanations_and_forecasts_become_frames(
    predictor: Predictor, asked: list[Query]
) -> None:
    explanation = predictor.explain(asked[0])
    forecast = predictor.forecast(asked[0].subject, asked[0].object, steps=1)
    frame = pd.DataFrame(explanation.contributions())
    total = frame["log_odds"].sum() + explanation.bias
    assert total == pytest.approx(explanation.log_odds)
    frame = pd.DataFrame(forecast.predicates)
    assert frame["probability"].tolist() == [p.probability for p in forecast.predicates]


def test_an_answer_as_of_a_time_flags_who_comes_later() -> None:
    facts = [("a", "p", "b", 2001 + n % 9) for n in range(60)] + [("c", "p", "a", 2005)]
    fitted = Predictor.fit(read_dataset(facts, splitting=Splitting(train=1, valid=0)))
    then = Predictor(fitted.model, past_only=True)
    for year, unseen in ((2004, True), (2005, True), (2006, False), (None, False)):
        (answer,) = then.predict(("c", "b", year))
        assert (answer.unseen_subject, answer.unseen_object) == (unseen, False)
        assert answer.meant_subject == "c"
        assert not answer.calibrated
    for shown in (then.predict(("c", "b", 2004)), then.explain(("c", "b", 2004))):
        assert "The model has no facts about c before 2004." in repr(shown)
    assert not fitted.predict(("c", "b", 2004))[0].unseen_subject


def test_a_notebook_shows_bars_reasons_and_the_drawing_of_the_page(
    predictor: Predictor, asked: list[Query]
) -> None:
    (answer,) = answers = predictor.predict(asked[0], top=4)
    explanation = predictor.explain(asked[0])
    page = explanation._repr_html_()
    assert answer._repr_html_() == answers._repr_html_() == copy.copy(answer)._repr_html_()
    read_page(page)  # every element is closed
    assert [r for r in explanation.reasons if r.facts]
    assert page.count("<svg") == 1
    assert draw_svg(draw_answer(explanation)) in page
    assert escape(explanation.reasons[0].sentence) in page
    assert page.startswith('<div class="apptek-report"><style>.apptek-report {')
    assert ":root" not in page.split("</style>")[0]
    many = predictor.predict(asked, top=4)._repr_html_()
    assert many.count('class="bars"') == 10
    assert "and 2 more" in many
    assert "<svg" not in many
    assert answer._repr_html_().count('<div class="bars">') == 1
