"""The README's example runs as it is printed."""

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_example_prints_what_the_readme_says() -> None:
    code, said = re.findall(r"```(?:python|text)\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout == said
