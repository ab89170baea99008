// What the panels show. A panel has a title, a weight (its share of the height) and curves; a curve gives the series to draw.

const LIGHT = { ink: "#1a1a1a", faint: "#666666", grid: "#e2e2e2", paper: "#ffffff", ack: "#9a9a9a",
  trains: ["#08519c", "#4292c6", "#7db8da", "#E69F00", "#D55E00", "#9c0000"], lost: "#C4003C", again: "#8A2BE2", one: "#0072B2", two: "#B85C00", three: "#00795A" };
const DARK = { ink: "#e6e6e6", faint: "#a6a9b0", grid: "#33373e", paper: "#16181c", ack: "#7d828c",
  trains: ["#3f86cf", "#6cb4f0", "#b3daf7", "#fdd49e", "#fc8d59", "#ff4f3d"], lost: "#ff5c8a", again: "#c79bff", one: "#4aa8ff", two: "#ffab5c", three: "#3ddcae" };
const darkQuery = matchMedia("(prefers-color-scheme: dark)");
const colours = () => (darkQuery.matches ? DARK : LIGHT);

/** Rates are over this share of what is visible, and over 1 ms at least. */
const RATE_STEPS = 160;

/** The panels of these transfers; those that have nothing to show are left out. */
function panelsOf(transfers) {
  const isPair = transfers.length > 1;
  const any = (isThere) => transfers.some((transfer) => isThere(transfer.series));
  const panels = transfers.map((transfer, index) => ({
    kind: "packets", weight: isPair ? 3 : 4, transfer, unit: "",
    title: (isPair ? `${"AB"[index]}: ` : "") + (transfer.hasNumbers ? "packet number" : "packets sent"),
  }));
  const curve = (name, colour, series, isDashed = false) => ({ name, colour, series, isDashed });
  const add = (title, unit, weight, make) => panels.push({
    title, unit, weight, curves: transfers.flatMap((transfer, index) => make(transfer.series, isPair ? ` ${"AB"[index]}` : "", index)),
  });
  // Of two transfers each has its colour, and what would have another one alone is dashed.
  const own = (index, alone) => (isPair ? ["one", "two"][index] : alone);
  const rates = (sums, factor) => (view) => sums.rates(view.from, view.to, Math.max(1e6, (view.to - view.from) / RATE_STEPS), factor);
  if (any((it) => it.flight.length || it.window)) add("bytes in flight", "kB", 1.6, (it, mark, index) => [
    curve(`in flight${mark}`, own(index, "one"), () => it.flight),
    ...(it.window ? [curve(`congestion window${mark}`, own(index, "three"), () => it.window, true)] : []),
  ]);
  add("rate", "Mbit/s", 1.6, (it, mark, index) => [
    curve(`sent${mark}`, own(index, "one"), rates(it.sent, 8e-6)),
    ...(it.hasGoodput ? [curve(`goodput${mark}`, own(index, "three"), rates(it.goodput, 8e-6), isPair)] : []),
    ...(it.pacing ? [curve(`pacing rate${mark}`, ["lost", "three"][index], () => it.pacing, true)] : []),
  ]);
  const single = (title, unit, key) => any((it) => it[key].length)
    && add(title, unit, 1.2, (it, mark, index) => [curve(mark.trim(), own(index, "one"), () => it[key])]);
  single("round-trip time", "ms", "rtt");
  single("wait in the bottleneck's queue", "ms", "queue");
  single("left later than planned", "ms", "late");
  return panels;
}
