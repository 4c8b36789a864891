"""A run's report: an HTML file that needs nothing but itself. Pure."""

from __future__ import annotations

from tidelog.chaos.report.document import document
from tidelog.chaos.report.markup import NOTHING, Markup, element, text
from tidelog.chaos.report.moments import moments
from tidelog.chaos.report.page import (
    again,
    anomalies,
    diary,
    facts,
    faults,
    fold,
    header,
    key_figures,
    section,
    settings,
)
from tidelog.chaos.report.quantities import moment
from tidelog.chaos.report.record import RunRecord
from tidelog.chaos.report.script import SCRIPT
from tidelog.chaos.report.story import Story
from tidelog.chaos.report.timeline import figure


def render(record: RunRecord) -> str:
    """The report of one run, a whole file's text, well below 500 KB whatever the run's length."""
    story = Story(record)
    return document(
        f"{record.scenario}: {record.verdict}",
        header(record),
        key_figures(story),
        _figures(story),
        anomalies(record),
        facts(record),
        again(record),
        section("In full", faults(story), diary(record), settings(record), _whole_run(story)),
        moments(story),
        element("script", Markup(SCRIPT)),
    )


def _figures(story: Story) -> Markup:
    low, high = story.window
    when = f"From {moment(low)} to {moment(high)} after the load began"
    rest = "; all of the run is at the end of this page." if story.is_zoomed else ": the whole run."
    return section(
        "What happened",
        element("p", text(when + rest), class_="soft"),
        element("div", figure(story, story.window, name="window"), class_="chart"),
    )


def _whole_run(story: Story) -> Markup:
    if not story.is_zoomed:
        return NOTHING
    everything = (story.began_s, story.ended_s)
    drawn = element("div", figure(story, everything, name="whole"), class_="chart")
    return fold("The whole run", f"{moment(story.began_s)} to {moment(story.ended_s)}", drawn)
