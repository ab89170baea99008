// Draws panels. Packets are set pixel by pixel into one image, which is far faster than a shape for each of 150,000; curves are
// drawn as the smallest and the largest value of each column of pixels.

const MARGIN = { left: 62, right: 10, top: 20, gap: 26, bottom: 30 };

class View {
  constructor(canvas, transfers) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d", { willReadFrequently: false });
    this.transfers = transfers;
    this.panels = panelsOf(transfers);
    this.end = Math.max(1000, ...transfers.map((transfer) => transfer.end)) * 1.005;
    this.from = 0;
    this.to = this.end;
    this.selected = null;
    this.resize();
  }

  resize() {
    this.scale = Math.min(devicePixelRatio || 1, 2);
    this.width = this.canvas.clientWidth;
    const total = this.panels.reduce((sum, panel) => sum + panel.weight, 0);
    this.height = Math.max(480, Math.min(1000, innerHeight * 0.85));
    this.canvas.style.height = `${this.height}px`;
    this.canvas.width = Math.round(this.width * this.scale);
    this.canvas.height = Math.round(this.height * this.scale);
    const free = this.height - MARGIN.bottom - this.panels.length * MARGIN.gap;
    let top = MARGIN.top;
    for (const panel of this.panels) {
      panel.top = top;
      panel.height = Math.max(24, (free * panel.weight) / total);
      top += panel.height + MARGIN.gap;
    }
  }

  /** Shows this span, in ns, as far as it is inside of the transfer. */
  show(from, to) {
    const length = Math.min(Math.max(to - from, 2000), this.end);
    this.from = Math.min(Math.max(from, 0), this.end - length);
    this.to = this.from + length;
  }

  zoom(factor, around = (this.from + this.to) / 2) {
    this.show(around - (around - this.from) * factor, around + (this.to - around) * factor);
  }

  move(share) {
    const by = (this.to - this.from) * share;
    this.show(this.from + by, this.to + by);
  }

  x(time) {
    return MARGIN.left + ((time - this.from) / (this.to - this.from)) * (this.width - MARGIN.left - MARGIN.right);
  }

  timeAt(x) {
    return this.from + ((x - MARGIN.left) / (this.width - MARGIN.left - MARGIN.right)) * (this.to - this.from);
  }

  range(transfer) {
    return [placeOf(transfer.time, this.from), placeOf(transfer.time, this.to)];
  }

  draw() {
    const { context } = this;
    this.colours = colours();
    context.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    context.fillStyle = this.colours.paper;
    context.fillRect(0, 0, this.width, this.height);
    context.font = "12px system-ui, sans-serif";
    context.lineWidth = 1.3;
    for (const panel of this.panels) {
      if (panel.kind === "packets") this.drawPackets(panel);
      else this.drawCurves(panel);
    }
    this.drawTimes();
    this.drawSelected();
  }

  drawTitle(panel) {
    this.context.fillStyle = this.colours.ink;
    this.context.textAlign = "left";
    this.context.fillText(panel.title + (panel.unit ? `, ${panel.unit}` : ""), MARGIN.left, panel.top - 6);
  }

  /** Lines and numbers at round values. */
  drawValues(panel, low, high) {
    const { context } = this;
    panel.low = low;
    panel.high = high > low ? high : low + 1;
    context.textAlign = "right";
    for (const value of rounds(panel.low, panel.high, Math.max(2, panel.height / 34))) {
      const y = this.y(panel, value);
      context.strokeStyle = this.colours.grid;
      context.beginPath();
      context.moveTo(MARGIN.left, y);
      context.lineTo(this.width - MARGIN.right, y);
      context.stroke();
      context.fillStyle = this.colours.faint;
      context.fillText(value.toLocaleString("en", { maximumFractionDigits: 3 }), MARGIN.left - 5, y + 4);
    }
    this.drawTitle(panel);
  }

  y(panel, value) {
    return panel.top + panel.height * (1 - (value - panel.low) / (panel.high - panel.low));
  }

  drawPackets(panel) {
    const { transfer } = panel;
    const [from, to] = this.range(transfer);
    let [low, high] = [Infinity, -Infinity];
    for (let place = from; place < to; place += 1) {
      if (!(transfer.flags[place] & 1)) continue;
      low = Math.min(low, transfer.height[place]);
      high = Math.max(high, transfer.height[place]);
    }
    if (high < low) [low, high] = [0, 1];
    const space = Math.max(1, (high - low) * 0.04);
    this.drawValues(panel, Math.max(0, low - space), high + space);
    this.drawAcknowledged(panel, from, to);
    this.setPixels(panel, from, to);
    this.drawMarks(panel, from, to);
  }

  /** The largest number acknowledged, as a line that rises with every acknowledgment. */
  drawAcknowledged(panel, from, to) {
    const { transfer } = panel;
    if (!transfer.hasNumbers) return;
    const { context } = this;
    this.clip(panel);
    context.strokeStyle = this.colours.ack;
    context.beginPath();
    let y = null;
    let lastColumn = -1;
    for (let place = from; place < to; place += 1) {
      if (transfer.flags[place] & 1 || !transfer.largest[place]) continue;
      const x = this.x(transfer.time[place]);
      const next = this.y(panel, transfer.largest[place] - 1);
      const pixel = Math.round(x * this.scale);
      if (pixel === lastColumn) { y = next; continue; }
      lastColumn = pixel;
      if (y === null) context.moveTo(x, next);
      else { context.lineTo(x, y); context.lineTo(x, next); }
      y = next;
    }
    context.stroke();
    context.restore();
  }

  clip(panel) {
    this.context.save();
    this.context.beginPath();
    this.context.rect(MARGIN.left, panel.top, this.width - MARGIN.left - MARGIN.right, panel.height);
    this.context.clip();
  }

  setPixels(panel, from, to) {
    const { transfer } = panel;
    const left = Math.round(MARGIN.left * this.scale);
    const top = Math.round(panel.top * this.scale);
    const width = Math.round((this.width - MARGIN.left - MARGIN.right) * this.scale);
    const height = Math.round(panel.height * this.scale);
    const image = this.context.getImageData(left, top, width, height);
    const pixels = new Uint32Array(image.data.buffer);
    const palette = this.colours.trains.map(pixelOf);
    const dot = Math.max(1, Math.min(5, Math.round(((width / Math.max(1, to - from)) * 2.5) + this.scale)));
    const perTime = width / (this.to - this.from);
    const perValue = height / (panel.high - panel.low);
    for (let place = from; place < to; place += 1) {
      if (!(transfer.flags[place] & 1)) continue;
      const x = ((transfer.time[place] - this.from) * perTime - dot / 2) | 0;
      const y = (height - (transfer.height[place] - panel.low) * perValue - dot / 2) | 0;
      const colour = palette[trainClass(transfer.train[place])];
      for (let row = Math.max(0, y); row < Math.min(height, y + dot); row += 1) {
        for (let pixel = Math.max(0, x); pixel < Math.min(width, x + dot); pixel += 1) pixels[row * width + pixel] = colour;
      }
    }
    this.context.putImageData(image, left, top);
  }

  /** Crosses for what was lost, diamonds for what was sent again; one for each few pixels. */
  drawMarks(panel, from, to) {
    const { transfer } = panel;
    const { context } = this;
    const taken = new Set();
    this.clip(panel);
    for (let place = from; place < to; place += 1) {
      const flags = transfer.flags[place];
      if (!(flags & 14) || !(flags & 1)) continue;
      const x = this.x(transfer.time[place]);
      const y = this.y(panel, transfer.height[place]);
      const key = ((x / 3) | 0) * 65536 + ((y / 3) | 0) * 2 + (flags & 6 ? 1 : 0);
      if (taken.has(key)) continue;
      taken.add(key);
      context.strokeStyle = flags & 6 ? this.colours.lost : this.colours.again;
      context.beginPath();
      if (flags & 6) {
        context.moveTo(x - 4, y - 4); context.lineTo(x + 4, y + 4);
        context.moveTo(x - 4, y + 4); context.lineTo(x + 4, y - 4);
      } else {
        context.moveTo(x, y - 4); context.lineTo(x + 4, y); context.lineTo(x, y + 4); context.lineTo(x - 4, y); context.closePath();
      }
      context.stroke();
    }
    context.restore();
  }

  drawCurves(panel) {
    const lines = panel.curves.map((curve) => {
      const transfer = this.transfers.length > 1 && / B$/.test(curve.name) ? this.transfers[1] : this.transfers[0];
      const [from, to] = this.range(transfer);
      return this.columns((add) => curve.points(this, Math.max(0, from - 1), to, add));
    });
    let high = 0;
    for (const line of lines) for (const value of line.high) if (value > high) high = value;
    this.drawValues(panel, 0, high * 1.05 || 1);
    this.clip(panel);
    lines.forEach((line, index) => this.drawLine(panel, panel.curves[index], line));
    this.context.restore();
  }

  /** The smallest, the largest and the last value of each column of pixels. */
  columns(points) {
    const line = { x: [], low: [], high: [], first: [], last: [] };
    let before = null;
    let at = -1;
    const factor = ((this.width - MARGIN.left - MARGIN.right) * this.scale) / (this.to - this.from);
    const left = MARGIN.left * this.scale - this.from * factor;
    points((time, value) => {
      const x = Math.round(time * factor + left);
      if (x === before) {
        if (value < line.low[at]) line.low[at] = value;
        if (value > line.high[at]) line.high[at] = value;
        line.last[at] = value;
        return;
      }
      before = x;
      at += 1;
      line.x.push(x / this.scale);
      line.low.push(value);
      line.high.push(value);
      line.first.push(value);
      line.last.push(value);
    });
    return line;
  }

  drawLine(panel, curve, line) {
    const { context } = this;
    context.strokeStyle = this.colours[curve.colour];
    context.setLineDash(curve.isDashed ? [6, 3] : []);
    context.fillStyle = context.strokeStyle;
    context.beginPath();
    line.x.forEach((x, place) => {
      // Stroking thousands of long lines takes a hundred times as long as filling bars; bars that overlap need no line between them.
      const isJoined = place > 0 && x - line.x[place - 1] < 1.6
        && line.low[place] <= line.high[place - 1] && line.high[place] >= line.low[place - 1];
      if (isJoined) context.moveTo(x, this.y(panel, line.last[place]));
      else context.lineTo(x, this.y(panel, line.first[place]));
      const top = this.y(panel, line.high[place]);
      context.fillRect(x - 0.6, top - 0.6, 1.2, this.y(panel, line.low[place]) - top + 1.2);
      if (!isJoined) context.moveTo(x, this.y(panel, line.last[place]));
    });
    context.stroke();
    context.setLineDash([]);
  }

  drawTimes() {
    const { context } = this;
    const bottom = this.height - MARGIN.bottom + 4;
    const span = this.to - this.from;
    const [unit, factor] = span > 2e9 ? ["s", 1e9] : span > 2e6 ? ["ms", 1e6] : ["\u00b5s", 1e3];
    context.fillStyle = this.colours.faint;
    context.textAlign = "center";
    for (const value of rounds(this.from / factor, this.to / factor, Math.max(2, (this.width - MARGIN.left) / 110))) {
      const x = this.x(value * factor);
      context.fillText(`${value.toLocaleString("en", { maximumFractionDigits: 3 })} ${unit}`, Math.min(x, this.width - 32), bottom + 14);
      context.strokeStyle = this.colours.grid;
      context.beginPath();
      context.moveTo(x, bottom - 4);
      context.lineTo(x, bottom + 2);
      context.stroke();
    }
  }

  drawSelected() {
    if (!this.selected) return;
    const { context } = this;
    const { transfer, place } = this.selected;
    const x = this.x(transfer.time[place]);
    if (x < MARGIN.left || x > this.width - MARGIN.right) return;
    context.strokeStyle = this.colours.ink;
    context.globalAlpha = 0.45;
    context.beginPath();
    context.moveTo(x, MARGIN.top);
    context.lineTo(x, this.height - MARGIN.bottom);
    context.stroke();
    context.globalAlpha = 1;
    const panel = this.panels.find((one) => one.kind === "packets" && one.transfer === transfer);
    if (!panel || !(transfer.flags[place] & 1)) return;
    context.beginPath();
    context.arc(x, this.y(panel, transfer.height[place]), 7, 0, 2 * Math.PI);
    context.stroke();
  }

  /** The packet nearest to a point of the page: in its panel, or anywhere by time. */
  nearest(x, y) {
    const inside = this.panels.find((panel) => panel.kind === "packets" && y >= panel.top - 10 && y <= panel.top + panel.height + 10);
    const transfer = inside ? inside.transfer : this.transfers[0];
    let best = null;
    let distance = Infinity;
    const reach = ((this.to - this.from) * 30) / this.width;
    const at = this.timeAt(x);
    const last = Math.min(transfer.count, placeOf(transfer.time, at + reach));
    for (let place = placeOf(transfer.time, at - reach); place < last; place += 1) {
      const isServer = transfer.flags[place] & 1;
      const level = isServer ? transfer.height[place] : transfer.largest[place] - 1;
      const down = inside && level >= 0 ? this.y(inside, level) - y : 0;
      const away = (this.x(transfer.time[place]) - x) ** 2 + down ** 2 + (isServer ? 0 : 4);
      if (away < distance) [best, distance] = [place, away];
    }
    return best === null || distance > 1800 ? null : { transfer, place: best };
  }
}

/** Round values between two, about as many as wanted. */
function rounds(low, high, wanted) {
  const raw = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= raw);
  const values = [];
  for (let value = Math.ceil(low / step) * step; value <= high; value += step) values.push(Math.round(value / step) * step);
  return values;
}

/** A colour as the image has it: on every machine that browsers run on, the red byte is the lowest. */
function pixelOf(hexadecimal) {
  const value = parseInt(hexadecimal.slice(1), 16);
  return (0xff000000 | ((value & 0xff) << 16) | (value & 0xff00) | (value >> 16)) >>> 0;
}
