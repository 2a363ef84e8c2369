// Triangles with hidden parts removed by a depth buffer, in plain arrays: needs no graphics hardware
// and looks the same everywhere. The picture has more pixels than the screen, which smooths edges.

const SEAM = 1e-6; // pixels that neighbours overlap, against gaps from rounding

class Raster {
  constructor() {
    this.canvas = document.createElement("canvas");
    this.context = this.canvas.getContext("2d");
  }

  resize(width, height) {
    this.width = this.canvas.width = width;
    this.height = this.canvas.height = height;
    this.image = this.context.createImageData(width, height);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.nearness = new Float32Array(width * height);
  }

  clear() {
    this.pixels.fill(0);
    this.nearness.fill(0);
  }

  // Corners: [x, y, nearness, brightness], x and y in pixels, clockwise on the screen (y down) is
  // the back. Nearness must be linear on the screen, and positive.
  triangle(a, b, c, tone) {
    const area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
    if (area >= 0) return;
    const top = Math.max(0, Math.ceil(Math.min(a[1], b[1], c[1])));
    const bottom = Math.min(this.height - 1, Math.floor(Math.max(a[1], b[1], c[1])));
    // shares of b and c: linear in x and y
    const bx = (c[1] - a[1]) / area, by = -(c[0] - a[0]) / area;
    const cx = -(b[1] - a[1]) / area, cy = (b[0] - a[0]) / area;
    for (let y = top; y <= bottom; y++) {
      const b0 = (y - a[1]) * by - a[0] * bx, c0 = (y - a[1]) * cy - a[0] * cx; // at x = 0
      let left = 0, right = this.width - 1;
      for (const [start, slope] of [[b0, bx], [c0, cx], [1 - b0 - c0, -bx - cx]]) { // no share below 0
        if (slope > 0) left = Math.max(left, Math.ceil(-start / slope - SEAM));
        else if (slope < 0) right = Math.min(right, Math.floor(-start / slope + SEAM));
        else if (start < 0) right = -1;
      }
      for (let x = left, at = y * this.width + left; x <= right; x++, at++) {
        const shareB = b0 + x * bx, shareC = c0 + x * cx;
        const near = a[2] + shareB * (b[2] - a[2]) + shareC * (c[2] - a[2]);
        if (near <= this.nearness[at]) continue;
        this.nearness[at] = near;
        this.pixels[at] = shaded(tone, a[3] + shareB * (b[3] - a[3]) + shareC * (c[3] - a[3]));
      }
    }
  }

  // The finished picture, to be drawn at any size.
  picture() {
    this.context.putImageData(this.image, 0, 0);
    return this.canvas;
  }
}

// Darker below brightness 1, toward white above; bytes red, green, blue, opaque.
function shaded([red, green, blue], bright) {
  const dim = Math.min(1, bright), white = 255 * Math.max(0, bright - 1) * 1.2;
  const part = (tone) => Math.min(255, tone * dim + white) | 0;
  return (255 << 24 | part(blue) << 16 | part(green) << 8 | part(red)) >>> 0;
}
