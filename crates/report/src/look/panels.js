// What the panels show. A panel has a title, a weight (its share of the height) and curves; a curve hands its points to `add`,
// one call each: generators take ten times as long for 150,000 packets.

const LIGHT = { ink: "#1a1a1a", faint: "#666666", grid: "#e2e2e2", paper: "#ffffff", ack: "#9a9a9a",
  trains: ["#7aa6c2", "#0072B2", "#E69F00", "#D55E00"], lost: "#C4003C", again: "#8A2BE2", one: "#0072B2", two: "#B85C00", three: "#00795A" };
const DARK = { ink: "#e6e6e6", faint: "#a6a9b0", grid: "#33373e", paper: "#16181c", ack: "#7d828c",
  trains: ["#8fb8d6", "#4aa8ff", "#ffc04d", "#ff8a4d"], lost: "#ff5c8a", again: "#c79bff", one: "#4aa8ff", two: "#ffab5c", three: "#3ddcae" };
const darkQuery = matchMedia("(prefers-color-scheme: dark)");
const colours = () => (darkQuery.matches ? DARK : LIGHT);

/** 0: alone, 1: up to 5 packets, 2: up to 20, 3: more. */
const trainClass = (length) => (length <= 1 ? 0 : length <= 5 ? 1 : length <= 20 ? 2 : 3);

/** Points of the packets in view of one side (1: the server, 0: the client) for which a value is known; columns hold one more. */
function ofPackets(transfer, from, to, side, values, less, factor, add) {
  const { time, flags } = transfer;
  for (let place = from; place < to; place += 1) {
    if (values[place] !== 0 && (flags[place] & 1) === side) add(time[place], (values[place] - less) * factor);
  }
}

function ofCurve(points, factor, from, to, add) {
  let before = null;
  for (const point of points) {
    if (point[0] < from) { before = point; continue; }
    if (before) { add(from, before[1] * factor); before = null; }
    if (point[0] > to) return;
    add(point[0], point[1] * factor);
  }
  if (before) add(from, before[1] * factor);
}

/** Megabits per second over steps of the view, of what was sent or, as goodput, of new bytes when they leave the bottleneck. */
function rates(transfer, view, from, to, isGoodput, add) {
  const { time, flags, bytes, fresh, crossed } = transfer;
  const width = Math.max(1e6, (view.to - view.from) / 160);
  const start = Math.floor(view.from / width) * width;
  const sums = new Float64Array(Math.ceil((view.to - start) / width) + 1);
  for (let place = from; place < to; place += 1) {
    if (!(flags[place] & 1) || (isGoodput && flags[place] & 4)) continue;
    const late = isGoodput && crossed[place] ? crossed[place] - 1 : 0;
    const step = Math.floor((time[place] + late - start) / width);
    if (step >= 0 && step < sums.length) sums[step] += isGoodput ? fresh[place] : bytes[place];
  }
  for (let step = 0; step < sums.length; step += 1) {
    const value = (sums[step] * 8e9) / width / 1e6;
    add(start + step * width, value);
    add(start + (step + 1) * width, value);
  }
}

/** The panels of these transfers; those that have nothing to show are left out. */
function panelsOf(transfers) {
  const known = (name) => transfers.some((transfer) => transfer[name].some((value) => value > 0));
  const panels = transfers.map((transfer, index) => ({
    kind: "packets", weight: transfers.length > 1 ? 3 : 4, transfer, unit: "",
    title: (transfers.length > 1 ? `${"AB"[index]}: ` : "") + (transfer.hasNumbers ? "packet number" : "packets sent"),
  }));
  const curve = (name, colour, points, isDashed) => ({ name, colour, points, isDashed });
  const each = (make) => transfers.flatMap((transfer, index) => make(transfer, transfers.length > 1 ? ` ${"AB"[index]}` : "", index));
  const own = (index, alone) => (index ? "two" : alone);
  if (known("flight") || transfers.some((it) => it.window)) panels.push({ title: "bytes in flight", unit: "kB", weight: 1.6, curves: each((it, mark, index) => [
    curve(`in flight${mark}`, own(index, "one"), (view, from, to, add) => ofPackets(it, from, to, 1, it.flight, 1, 1e-3, add)),
    ...(it.window ? [curve(`congestion window${mark}`, "three", (view, from, to, add) => ofCurve(it.window, 1e-3, view.from, view.to, add), true)] : []),
  ]) });
  panels.push({ title: "rate", unit: "Mbit/s", weight: 1.6, curves: each((it, mark, index) => [
    curve(`sent${mark}`, own(index, "one"), (view, from, to, add) => rates(it, view, from, to, false, add)),
    ...(known("fresh") ? [curve(`goodput${mark}`, own(index, "three"), (view, from, to, add) => rates(it, view, placeOf(it.time, view.from - 1e9), to, true, add), index > 0)] : []),
    ...(it.pacing ? [curve(`pacing rate${mark}`, "lost", (view, from, to, add) => ofCurve(it.pacing, 1e-6, view.from, view.to, add), true)] : []),
  ]) });
  if (known("rtt")) panels.push({ title: "round-trip time", unit: "ms", weight: 1.2, curves: each((it, mark, index) => [
    curve(`RTT${mark}`, own(index, "one"), (view, from, to, add) => ofPackets(it, from, to, 0, it.rtt, 1, 1e-6, add)),
  ]) });
  if (known("crossed")) panels.push({ title: "wait in the bottleneck's queue", unit: "ms", weight: 1.2, curves: each((it, mark, index) => [
    curve(`queue${mark}`, own(index, "one"), (view, from, to, add) => ofPackets(it, from, to, 1, it.crossed, it.smallestCrossing, 1e-6, add)),
  ]) });
  if (known("late")) panels.push({ title: "left later than planned", unit: "ms", weight: 1.2, curves: each((it, mark, index) => [
    curve(`lateness${mark}`, own(index, "one"), (view, from, to, add) => ofPackets(it, from, to, 1, it.late, 1, 1e-6, add)),
  ]) });
  return panels;
}
