// The chart's pixels. Its lines are horizontal or vertical, and setting memory costs far less than a shape of the canvas for each.

class Raster {
  constructor(context, width, height) {
    this.image = context.createImageData(Math.max(1, width), Math.max(1, height));
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.width = this.image.width;
    this.clip(0, 0, this.width, this.image.height);
  }

  clear(colour) {
    this.pixels.fill(colour);
  }

  /** What follows stays inside of this. */
  clip(left, top, right, bottom) {
    this.left = Math.max(0, left);
    this.top = Math.max(0, top);
    this.right = Math.min(this.width, right);
    this.bottom = Math.min(this.image.height, bottom);
  }

  fill(x, y, width, height, colour) {
    const left = Math.max(this.left, x);
    const right = Math.min(this.right, x + width);
    const bottom = Math.min(this.bottom, y + height);
    for (let row = Math.max(this.top, y); row < bottom; row += 1) {
      const start = row * this.width;
      for (let at = start + left; at < start + right; at += 1) this.pixels[at] = colour;
    }
  }

  /** As `fill`, but for gaps of a third. */
  dashed(x, y, width, height, colour, period) {
    const isFlat = width > height;
    const from = Math.max(isFlat ? this.left : this.top, isFlat ? x : y);
    const to = Math.min(isFlat ? this.right : this.bottom, isFlat ? x + width : y + height);
    for (let at = from; at < to; at += 1) {
      if (at % period >= (period * 2) / 3) continue;
      if (isFlat) this.fill(at, y, 1, height, colour);
      else this.fill(x, at, width, 1, colour);
    }
  }

  cross(x, y, reach, colour) {
    for (let by = -reach; by <= reach; by += 1) {
      this.fill(x + by, y + by, 2, 1, colour);
      this.fill(x + by, y - by, 2, 1, colour);
    }
  }

  diamond(x, y, reach, colour) {
    for (let by = -reach; by <= reach; by += 1) {
      const half = reach - Math.abs(by);
      this.fill(x - half, y + by, 2, 1, colour);
      this.fill(x + half, y + by, 2, 1, colour);
    }
  }

  show(context) {
    context.putImageData(this.image, 0, 0);
  }
}

/** A colour as the image has it: on every machine that browsers run on, the red byte is the lowest. */
function pixelOf(hexadecimal) {
  const value = parseInt(hexadecimal.slice(1), 16);
  return (0xff000000 | ((value & 0xff) << 16) | (value & 0xff00) | (value >> 16)) >>> 0;
}
