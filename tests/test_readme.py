"""The README's example and the page of examples run as they are printed."""

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
EXAMPLES = Path(__file__).parents[1] / "docs" / "examples.md"


def test_example_prints_what_the_readme_says() -> None:
    code, said = re.findall(r"```(?:python|text)\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout == said


def test_the_page_of_examples_runs_from_top_to_bottom() -> None:
    blocks = re.findall(r"```python\n(.*?)```", EXAMPLES.read_text("utf-8"), re.DOTALL)
    assert len(blocks) > 3
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", "\n".join(blocks)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
