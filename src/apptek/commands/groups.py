"""The groups `paper` and `research`."""

import typer

from apptek.commands.command_group import CommandGroup
from apptek.commands.paper.play import play
from apptek.commands.paper.reproduce import reproduce
from apptek.commands.paper.topologies import topologies
from apptek.commands.paper.train import train
from apptek.commands.research.compare import compare
from apptek.commands.research.contest import contest
from apptek.commands.research.faithfulness import faithfulness
from apptek.commands.research.search import search

paper_app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    help="The paper's agent and its topologies; rebuild the paper's tables and figures.",
)
research_app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    help="Compare models, search settings, and measure whether explanations are faithful.",
)
for app, commands in (
    (paper_app, (train, play, topologies, reproduce)),
    (research_app, (compare, contest, search, faithfulness)),
):
    for command in commands:
        app.command()(command)
