// Values over time, with levels above them as a waveform viewer has: each holds the smallest and the largest of eight values of
// the level below, so a span of any length costs a few steps.

const FANOUT = 8;

/** The first place from `low` on whose time is not before. */
function placeOf(times, wanted, low = 0, high = times.length) {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

class Series {
  /** Times go up; a value holds until the next. */
  constructor(times, values) {
    this.times = times;
    this.values = values;
    this.levels = null;
  }

  get length() {
    return this.times.length;
  }

  build() {
    this.levels = [{ low: this.values, high: this.values }];
    for (let below = this.levels[0]; below.low.length > FANOUT; below = this.levels[this.levels.length - 1]) {
      const count = Math.ceil(below.low.length / FANOUT);
      const level = { low: new Float64Array(count), high: new Float64Array(count) };
      for (let place = 0; place < count; place += 1) {
        const end = Math.min((place + 1) * FANOUT, below.low.length);
        let low = Infinity;
        let high = -Infinity;
        for (let at = place * FANOUT; at < end; at += 1) {
          if (below.low[at] < low) low = below.low[at];
          if (below.high[at] > high) high = below.high[at];
        }
        level.low[place] = low;
        level.high[place] = high;
      }
      this.levels.push(level);
    }
  }

  /** The smallest and the largest value of places from (with) to (without); infinite if there are none. */
  extremes(from, to) {
    if (!this.levels) this.build();
    let low = Infinity;
    let high = -Infinity;
    for (let depth = 0; from < to; depth += 1) {
      const level = this.levels[depth];
      const isTop = depth + 1 === this.levels.length || to - from < 2 * FANOUT;
      const firstEnd = isTop ? to : Math.ceil(from / FANOUT) * FANOUT;
      for (; from < firstEnd; from += 1) {
        if (level.low[from] < low) low = level.low[from];
        if (level.high[from] > high) high = level.high[from];
      }
      if (isTop) break;
      for (const lastStart = Math.floor(to / FANOUT) * FANOUT; to > lastStart;) {
        to -= 1;
        if (level.low[to] < low) low = level.low[to];
        if (level.high[to] > high) high = level.high[to];
      }
      from /= FANOUT;
      to /= FANOUT;
    }
    return [low, high];
  }

  /** Places of the values in a span of time. */
  range(from, to) {
    const first = placeOf(this.times, from);
    return [first, placeOf(this.times, to, first)];
  }

  /** Calls `each(column, low, high, last)` for the columns, `count` of them from time `from` to `to`, that have values. */
  columns(from, to, count, each) {
    const [first, end] = this.range(from, to);
    const perColumn = (to - from) / count;
    for (let place = first; place < end;) {
      const column = Math.min(count - 1, Math.floor((this.times[place] - from) / perColumn));
      const next = Math.max(place + 1, placeOf(this.times, from + (column + 1) * perColumn, place, end));
      if (next === place + 1) each(column, this.values[place], this.values[place], this.values[place]);
      else each(column, ...this.extremes(place, next), this.values[next - 1]);
      place = next;
    }
  }
}

/** Sums of values over time. */
class Sums {
  /** Times go up. */
  constructor(times, values) {
    this.times = times;
    this.totals = new Float64Array(times.length + 1);
    for (let place = 0; place < times.length; place += 1) this.totals[place + 1] = this.totals[place] + values[place];
  }

  /** Each step of time and its sum, as a rate: (sum a second) times `factor`. One step of 0 is behind the last value. */
  rates(from, to, width, factor) {
    const first = Math.max(0, Math.floor(from / width));
    const end = this.times.length ? Math.floor(this.times[this.times.length - 1] / width) + 2 : 0;
    const steps = Math.max(1, Math.min(Math.ceil(to / width), end) - first);
    const times = new Float64Array(steps);
    const values = new Float64Array(steps);
    let place = placeOf(this.times, first * width);
    for (let step = 0; step < steps; step += 1) {
      const next = placeOf(this.times, (first + step + 1) * width, place);
      times[step] = (first + step) * width;
      values[step] = ((this.totals[next] - this.totals[place]) * 1e9 * factor) / width;
      place = next;
    }
    return new Series(times, values);
  }
}
