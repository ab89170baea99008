// Draws panels. What costs time is set pixel by pixel, column by column (raster.js, series.js); the canvas itself draws only text and
// the mark of the selected packet.

const MARGIN = { right: 10, top: 20, gap: 26, bottom: 30 };
/** With no more packets than this in view each is drawn as itself. */
const MOST_SINGLE = 3000;
/** The least space for the numbers beside a panel. */
const LEFT = 62;
const FONT = "12px system-ui, sans-serif";
const LINE = 15;
/** On a narrower screen the names of curves can need two lines. */
const NARROW = 600;
const numbers = new Intl.NumberFormat("en", { maximumFractionDigits: 3 });

class View {
  constructor(canvas, transfers) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.transfers = transfers;
    this.panels = panelsOf(transfers);
    this.begin = Math.min(...transfers.map((transfer) => transfer.begin));
    const last = Math.max(this.begin + 1000, ...transfers.map((transfer) => transfer.end));
    this.end = last + (last - this.begin) * 0.005;
    this.showAll();
    this.selected = null;
    this.widths = new Map();
    this.left = LEFT;
    // A stack may begin with any packet number, which then has ten digits.
    for (const { series } of transfers) {
      for (const one of series.packets) {
        const [, most] = one.extremes(...one.range(0, this.end));
        if (most > 0) this.left = Math.max(this.left, Math.ceil(this.widthOf(numbers.format(most))) + 10);
      }
    }
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
    this.raster = new Raster(this.context, this.canvas.width, this.canvas.height);
    const gap = MARGIN.gap + (this.width < NARROW ? LINE : 0);
    const free = this.height - MARGIN.bottom - this.panels.length * gap;
    let top = MARGIN.top;
    for (const panel of this.panels) {
      panel.top = top;
      panel.height = Math.max(24, (free * panel.weight) / total);
      top += panel.height + gap;
    }
  }

  /** From the first packet to a little behind the last one, in ns. */
  get length() {
    return this.end - this.begin;
  }

  showAll() {
    this.show(this.begin, this.end);
  }

  /** Shows this span, in ns, as far as it is inside of the transfers. */
  show(from, to) {
    this.place(from, Math.min(Math.max(to - from, 2000), this.length));
  }

  place(from, length) {
    this.from = Math.min(Math.max(from, this.begin), this.end - length);
    this.to = this.from + length;
  }

  zoom(factor, around = (this.from + this.to) / 2) {
    this.show(around - (around - this.from) * factor, around + (this.to - around) * factor);
  }

  /** By a share of what is visible, as far as there is something. */
  move(share) {
    const length = this.to - this.from;
    this.place(this.from + length * share, length);
  }

  x(time) {
    return this.left + ((time - this.from) / (this.to - this.from)) * (this.width - this.left - MARGIN.right);
  }

  timeAt(x) {
    return this.from + ((x - this.left) / (this.width - this.left - MARGIN.right)) * (this.to - this.from);
  }

  y(panel, value) {
    return panel.top + panel.height * (1 - (value - panel.low) / (panel.high - panel.low));
  }

  range(transfer) {
    return [placeOf(transfer.time, this.from), placeOf(transfer.time, this.to)];
  }

  draw() {
    const { context, raster } = this;
    this.colours = colours();
    this.labels = [];
    raster.clip(0, 0, this.canvas.width, this.canvas.height);
    raster.clear(pixelOf(this.colours.paper));
    for (const panel of this.panels) {
      if (panel.kind === "packets") this.drawPackets(panel);
      else this.drawCurves(panel);
    }
    this.drawTimes();
    raster.show(context);
    context.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    context.font = FONT;
    for (const { text, x, y, align, colour } of this.labels) {
      context.fillStyle = colour;
      context.textAlign = align;
      context.fillText(text, x, y);
    }
    this.drawSelected();
  }

  widthOf(text) {
    this.context.font = FONT;
    let width = this.widths.get(text);
    if (width === undefined) this.widths.set(text, width = this.context.measureText(text).width);
    return width;
  }

  /** Where a panel is, in the raster's pixels. */
  box(panel) {
    const { scale } = this;
    const [left, right] = [Math.round(this.left * scale), Math.round((this.width - MARGIN.right) * scale)];
    const [top, bottom] = [Math.round(panel.top * scale), Math.round((panel.top + panel.height) * scale)];
    return { left, right, top, bottom, columns: Math.max(1, right - left) };
  }

  /** Title, and lines and numbers at round values. */
  drawValues(panel, low, high) {
    const { colours, labels, raster, scale } = this;
    panel.low = low;
    panel.high = high > low ? high : low + 1;
    const { left, right } = this.box(panel);
    raster.clip(0, 0, this.canvas.width, this.canvas.height);
    for (const value of rounds(panel.low, panel.high, Math.max(2, panel.height / 34))) {
      const y = this.y(panel, value);
      raster.fill(left, Math.round(y * scale), right - left, Math.round(scale), pixelOf(colours.grid));
      labels.push({ text: numbers.format(value), x: this.left - 5, y: y + 4, align: "right", colour: colours.faint });
    }
    const title = panel.title + (panel.unit ? `, ${panel.unit}` : "");
    labels.push({ text: title, x: this.left, y: panel.top - 6, align: "left", colour: colours.ink });
    const curves = panel.curves && panel.curves.length > 1 ? panel.curves : [];
    let x = this.left + this.widthOf(title) + 14;
    const row = labels.splice(-1);
    for (const { name, colour, isDashed } of curves) {
      const text = `${isDashed ? "\u254c" : "\u2501"} ${name}`;
      const width = this.widthOf(text);
      if (x + width > this.width) {
        // On a narrow screen they go on in a second line, and the first moves up.
        for (const label of row) label.y -= LINE;
        x = this.left;
      }
      row.push({ text, x, y: panel.top - 6, align: "left", colour: colours[colour] });
      x += width + 12;
    }
    labels.push(...row);
  }

  drawPackets(panel) {
    const { series } = panel.transfer;
    let [low, high, count] = [Infinity, -Infinity, 0];
    for (const one of series.packets) {
      const [from, to] = one.range(this.from, this.to);
      const [least, most] = one.extremes(from, to);
      [low, high, count] = [Math.min(low, least), Math.max(high, most), count + to - from];
    }
    if (high < low) [low, high] = [0, 1];
    const space = Math.max(1, (high - low) * 0.04);
    this.drawValues(panel, Math.max(0, low - space), high + space);
    const { left, right, top, bottom, columns } = this.box(panel);
    this.raster.clip(left, top, right, bottom);
    this.drawSteps(panel, series.acked, pixelOf(this.colours.ack), false, true);
    const dot = Math.max(1, Math.min(5 * this.scale, Math.round((columns / Math.max(1, count)) * 2.5 + this.scale)));
    series.packets.forEach((one, index) => this.drawDots(panel, one, pixelOf(this.colours.trains[index]), dot, count <= MOST_SINGLE));
    this.drawMarks(panel, series.again, (x, y, reach) => this.raster.diamond(x, y, reach, pixelOf(this.colours.again)));
    this.drawMarks(panel, series.lost, (x, y, reach) => this.raster.cross(x, y, reach, pixelOf(this.colours.lost)));
  }

  /** The row of a value of this panel in the raster. */
  row(panel) {
    const { top, bottom } = this.box(panel);
    // A line at the lowest value is inside.
    const lowest = bottom - Math.ceil(1.5 * this.scale);
    const perValue = (lowest - top) / (panel.high - panel.low);
    return (value) => Math.round(lowest - (value - panel.low) * perValue);
  }

  drawDots(panel, series, colour, dot, areSingle) {
    const { left, columns } = this.box(panel);
    const row = this.row(panel);
    const half = dot >> 1;
    if (areSingle) {
      const [from, to] = series.range(this.from, this.to);
      const perTime = columns / (this.to - this.from);
      for (let place = from; place < to; place += 1) {
        const x = left + Math.floor((series.times[place] - this.from) * perTime);
        this.raster.fill(x - half, row(series.values[place]) - half, dot, dot, colour);
      }
      return;
    }
    series.columns(this.from, this.to, columns, (column, low, high) => {
      const top = row(high) - half;
      this.raster.fill(left + column - half, top, dot, row(low) - half + dot - top, colour);
    });
  }

  /** A mark for each value; where there are many, smaller ones, and no more than two in a few columns of pixels. */
  drawMarks(panel, series, mark) {
    const { left, columns } = this.box(panel);
    const row = this.row(panel);
    const wide = Math.round(4 * this.scale);
    const count = Math.max(1, Math.floor(columns / wide));
    const perTime = columns / (this.to - this.from);
    const [from, to] = series.range(this.from, this.to);
    const reach = Math.round((to - from > count / 4 ? 2 : 4) * this.scale);
    if (to - from <= count) {
      for (let place = from; place < to; place += 1) {
        mark(left + Math.floor((series.times[place] - this.from) * perTime), row(series.values[place]), reach);
      }
      return;
    }
    series.columns(this.from, this.to, count, (column, low, high) => {
      const x = left + Math.round(((column + 0.5) * columns) / count);
      mark(x, row(low), reach);
      if (row(low) - row(high) >= wide) mark(x, row(high), reach);
    });
  }

  drawCurves(panel) {
    const all = panel.curves.map((curve) => ({ curve, series: curve.series(this) }));
    let most = 0;
    for (const { series } of all) {
      const [from, to] = series.range(this.from, this.to);
      most = Math.max(most, series.extremes(Math.max(0, from - 1), to)[1]);
    }
    this.drawValues(panel, 0, most * 1.05 || 1);
    const { left, right, top, bottom } = this.box(panel);
    this.raster.clip(left, top, right, bottom);
    for (const { curve, series } of all) this.drawSteps(panel, series, pixelOf(this.colours[curve.colour]), curve.isDashed, false);
  }

  /** A line that keeps each value until the next. */
  drawSteps(panel, series, colour, isDashed, isThin) {
    const { raster, scale } = this;
    const { left, right, columns } = this.box(panel);
    const row = this.row(panel);
    const thick = Math.max(1, Math.round((isThin ? 1 : 1.5) * scale));
    const up = Math.max(1, Math.round(scale));
    const fill = isDashed ? (x, y, width, height) => raster.dashed(x, y, width, height, colour, Math.round(9 * scale))
      : (x, y, width, height) => raster.fill(x, y, width, height, colour);
    const [from, to] = series.range(this.from, this.to);
    let y = from > 0 && series.length ? row(series.values[from - 1]) : null;
    let x = left;
    series.columns(this.from, this.to, columns, (column, low, high, last) => {
      const next = left + column;
      let [above, below] = [row(high), row(low)];
      if (y !== null) {
        if (next > x) fill(x, y, next - x, thick);
        [above, below] = [Math.min(above, y), Math.max(below, y)];
      }
      fill(next, above, up, below - above + thick);
      [x, y] = [next, row(last)];
    });
    if (y !== null && to < series.length) fill(x, y, right - x, thick);
    else if (y !== null) fill(x, y, thick, thick);
  }

  drawTimes() {
    const { colours, labels, raster, scale } = this;
    const bottom = this.height - MARGIN.bottom + 4;
    const span = this.to - this.from;
    const [unit, factor] = span > 2e9 ? ["s", 1e9] : span > 2e6 ? ["ms", 1e6] : ["\u00b5s", 1e3];
    raster.clip(0, 0, this.canvas.width, this.canvas.height);
    for (const value of rounds(this.from / factor, this.to / factor, Math.max(2, (this.width - this.left) / 110))) {
      const x = this.x(value * factor);
      labels.push({ text: `${numbers.format(value)} ${unit}`, x: Math.min(x, this.width - 32), y: bottom + 14, align: "center", colour: colours.faint });
      raster.fill(Math.round(x * scale), Math.round((bottom - 4) * scale), Math.round(scale), Math.round(6 * scale), pixelOf(colours.faint));
    }
  }

  drawSelected() {
    if (!this.selected) return;
    const { context } = this;
    const { transfer, place } = this.selected;
    const x = this.x(transfer.time[place]);
    if (x < this.left || x > this.width - MARGIN.right) return;
    context.strokeStyle = this.colours.ink;
    context.lineWidth = 1.3;
    context.globalAlpha = 0.45;
    context.beginPath();
    context.moveTo(x, MARGIN.top);
    context.lineTo(x, this.height - MARGIN.bottom);
    context.stroke();
    context.globalAlpha = 1;
    const panel = this.panels.find((one) => one.kind === "packets" && one.transfer === transfer);
    if (!panel || !(transfer.flags[place] & IS_SERVER)) return;
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
      const isServer = transfer.flags[place] & IS_SERVER;
      const level = isServer ? transfer.height[place] : transfer.largest[place] - 1;
      // A packet without a place in the panel is not there.
      if (inside && level < 0) continue;
      const down = inside ? this.y(inside, level) - y : 0;
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
