"""Pictures of pages as coarse grids of colours, which fonts and antialiasing hardly change.

Each cell is one letter: A to L for a hue (red, orange, ...), g for grey, k for dark, or a dot.
"""

import json

CELL = 12  # px of the screen
STRAY = 3  # cells that may differ: edges that cross a cell's border
SHARE = 0.05  # of a cell's pixels: less is not seen
READ = """(async () => {
  const bytes = Uint8Array.from(atob(%s), (sign) => sign.charCodeAt(0)), cell = %d, share = %s;
  const image = await createImageBitmap(new Blob([bytes])), { width, height } = image;
  const context = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  context.drawImage(image, 0, 0);
  const { data } = context.getImageData(0, 0, width, height);
  const kindAt = (at) => {
    const r = data[at], g = data[at + 1], b = data[at + 2];
    const most = Math.max(r, g, b), range = most - Math.min(r, g, b);
    if (range <= 60) return most < 90 ? "k" : most < 185 ? "g" : ".";
    const hue = most === r ? (g - b) / range : most === g ? 2 + (b - r) / range : 4 + (r - g) / range;
    return "ABCDEFGHIJKL"[Math.floor(2 * hue + 12.5) %% 12];
  };
  const rows = [];
  for (let y = 0; y + cell <= height; y += cell) {
    let row = "";
    for (let x = 0; x + cell <= width; x += cell) {
      const counts = { ".": 0 };
      for (let j = y; j < y + cell; j++) for (let i = x; i < x + cell; i++) {
        const kind = kindAt(4 * (j * width + i));
        counts[kind] = (counts[kind] || 0) + 1;
      }
      counts["."] = share * cell * cell;
      row += Object.keys(counts).reduce((a, b) => (counts[b] > counts[a] ? b : a));
    }
    rows.push(row);
  }
  return rows;
})()"""  # noqa: E501


def wait_until_drawn(page) -> None:
    """Until the scene is drawn finely, after all that was asked of it.

    Moving pictures are coarse: what was asked for is drawn in the first of two frames, and the fine
    picture follows when nothing more is asked.
    """
    page.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    page.wait_for(
        "(({ width, clientWidth }) => width === 2 * clientWidth)(document.querySelector('#scene'))"
    )


def picture(page) -> str:
    """The picture of the scene once it is drawn finely."""
    wait_until_drawn(page)
    return page.run("document.querySelector('#scene').toDataURL()")


def grid_of(page, selector: str) -> list[str]:
    """The part of the page that an element covers, without texts above it."""
    page.run(
        "document.querySelectorAll('.hint, #scene + div').forEach((x) => { x.hidden = true; })"
    )
    page.middle(selector)
    x, y, width, height = page.run(
        f"(() => {{ const b = document.querySelector({json.dumps(selector)})"
        ".getBoundingClientRect();"
        "return [b.x + scrollX, b.y + scrollY, b.width, b.height]; })()"
    )
    clip = {"x": round(x), "y": round(y), "width": round(width), "height": round(height)}
    shot = page.call(
        "Page.captureScreenshot", captureBeyondViewport=True, clip={**clip, "scale": 1}
    )
    return page.run(READ % (json.dumps(shot["data"]), CELL, SHARE))


def strays(found: list[str], expected: list[str]) -> int:
    """Cells whose colour is nowhere near them in the other picture."""
    if [len(row) for row in found] != [len(row) for row in expected]:
        return max(len(found), len(expected)) * max(map(len, (*found, *expected)))
    return _unmatched(found, expected) + _unmatched(expected, found)


def _unmatched(one: list[str], other: list[str]) -> int:
    count = 0
    for y, row in enumerate(one):
        near = other[max(0, y - 1) : y + 2]
        for x, kind in enumerate(row):
            if kind != "." and not any(kind in line[max(0, x - 1) : x + 2] for line in near):
                count += 1
    return count
