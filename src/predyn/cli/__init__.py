"""The command line: examples, solve, estimate, plan, certify, study, pareto, check, simulate,
report, view, export."""

from predyn.cli.estimate_command import estimate
from predyn.cli.file_commands import check, export, report, view
from predyn.cli.guard import app, guarded
from predyn.cli.robot_commands import certify, plan
from predyn.cli.simulate_command import simulate
from predyn.cli.solve_command import examples, solve
from predyn.cli.study_command import pareto, study

COMMANDS = (
    *(examples, solve, estimate, plan, certify, study, pareto),
    *(check, simulate, report, view, export),
)
for command in COMMANDS:
    app.command()(guarded(command))


def main() -> None:
    """Entry point of the command `predyn`."""
    app()
