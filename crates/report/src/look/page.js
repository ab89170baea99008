// The page: what the pointer, the keys and the address do.

const byId = (id) => document.getElementById(id);

async function main() {
  const started = performance.now();
  const transfers = await Promise.all([...document.querySelectorAll("script.transfer")].map(readTransfer));
  const view = new View(byId("chart"), transfers);
  let isAsked = false;
  const redraw = () => {
    if (isAsked) return;
    isAsked = true;
    requestAnimationFrame(() => {
      isAsked = false;
      view.draw();
      const count = (transfer) => view.range(transfer).reduce((from, to) => to - from);
      const counts = transfers.length > 1 ? transfers.map((one, index) => `${"AB"[index]}: ${count(one)}`).join(", ") : count(transfers[0]);
      byId("readout").textContent = `${(view.from / 1e6).toFixed(3)} to ${(view.to / 1e6).toFixed(3)} ms \u00b7 ${counts} packets`;
    });
  };
  legend();
  pointer(view, redraw);
  keys(view, redraw);
  buttons(view, redraw);
  addEventListener("resize", () => { view.resize(); redraw(); });
  addEventListener("hashchange", () => { follow(view); redraw(); });
  darkQuery.addEventListener("change", () => { legend(); redraw(); });
  follow(view);
  view.draw();
  redraw();
  document.documentElement.dataset.loadMs = (performance.now() - started).toFixed(1);
  globalThis.quiclabView = view;
}

function legend() {
  const palette = colours();
  const trains = TRAIN_CLASSES.map(([, name], place) => [palette.trains[place], `${place ? "" : "packets in a train of "}${name}`]);
  const entries = [...trains, [palette.ack, "acknowledged up to"], [palette.lost, "\u00d7 dropped or declared lost"],
    [palette.again, "\u25c7 sent again"]];
  byId("legend").replaceChildren(...entries.map(([colour, text]) => {
    const item = document.createElement("li");
    const box = document.createElement("span");
    box.style.background = colour;
    item.append(box, text);
    return item;
  }));
}

function pointer(view, redraw) {
  const { canvas } = view;
  let drag = null;
  let kept = false;
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    view.zoom(1.0018 ** Math.max(-400, Math.min(400, event.deltaY)), view.timeAt(event.offsetX));
    redraw();
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    drag = { x: event.offsetX, from: view.from, to: view.to, moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (drag) {
      const by = ((drag.x - event.offsetX) / (view.width - view.left - MARGIN.right)) * (drag.to - drag.from);
      drag.moved ||= Math.abs(event.offsetX - drag.x) > 3;
      view.show(drag.from + by, drag.to + by);
      return redraw();
    }
    if (kept) return;
    const found = view.nearest(event.offsetX, event.offsetY);
    if (found) select(view, found);
    redraw();
  });
  canvas.addEventListener("pointerup", (event) => {
    const wasClick = drag && !drag.moved;
    drag = null;
    if (!wasClick) return;
    const found = view.nearest(event.offsetX, event.offsetY);
    kept = Boolean(found);
    if (found) { select(view, found); address(view, found); }
    redraw();
  });
  // The browser took the pointer away, to scroll the page.
  canvas.addEventListener("pointercancel", () => { drag = null; });
  canvas.addEventListener("dblclick", () => { kept = false; view.showAll(); redraw(); });
}

function keys(view, redraw) {
  view.canvas.addEventListener("keydown", (event) => {
    const actions = {
      "+": () => view.zoom(0.6), "=": () => view.zoom(0.6), "-": () => view.zoom(1 / 0.6),
      ArrowLeft: () => view.move(-0.2), ArrowRight: () => view.move(0.2),
      ArrowUp: () => view.zoom(0.6), ArrowDown: () => view.zoom(1 / 0.6),
      Home: () => view.move(-Infinity), End: () => view.move(Infinity),
      0: () => view.showAll(), Escape: () => view.showAll(), n: () => step(view, 1), p: () => step(view, -1),
    };
    const action = actions[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
    redraw();
  });
}

/** From the selected packet, or from the first one in view. */
function step(view, by) {
  const [first] = view.transfers;
  const { transfer, place } = view.selected || { transfer: first, place: view.range(first)[0] - by };
  const next = Math.min(Math.max(place + by, 0), transfer.count - 1);
  select(view, { transfer, place: next });
  const time = transfer.time[next];
  if (time < view.from || time > view.to) centre(view, time, view.to - view.from);
}

function buttons(view, redraw) {
  const on = (id, action) => byId(id).addEventListener("click", () => { action(); redraw(); });
  on("in", () => view.zoom(0.6));
  on("out", () => view.zoom(1 / 0.6));
  on("left", () => view.move(-0.2));
  on("right", () => view.move(0.2));
  on("whole", () => view.showAll());
  byId("controls").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = byId("goto").value.trim();
    const time = /^([0-9]+(?:\.[0-9]+)?)\s*(ms|s)$/.exec(text);
    // Without an event of its own: the address may name that place already.
    const go = (hash) => { history.replaceState(null, "", hash); follow(view); redraw(); };
    if (time) go(`#time=${Number(time[1]) / (time[2] === "ms" ? 1000 : 1)}`);
    else if (/^[0-9]+$/.test(text)) go(`#packet=${text}`);
    else byId("readout").textContent = `Found ${JSON.stringify(text)}, expected a packet number such as 1234, or a time such as 1.5 s`;
  });
}

const centre = (view, time, span) => view.show(time - span / 2, time + span / 2);

/** Goes to what the address names. */
function follow(view) {
  const wanted = new URLSearchParams(location.hash.slice(1));
  const transfer = view.transfers["AB".indexOf(wanted.get("of") || "A")] || view.transfers[0];
  if (wanted.has("time")) {
    const time = Number(wanted.get("time")) * 1e9;
    if (!Number.isFinite(time) || !transfer.count) return;
    centre(view, time, Number(wanted.get("span") || 0) * 1e9 || Math.max(2e7, view.length / 50));
    select(view, { transfer, place: Math.min(placeOf(transfer.time, time), transfer.count - 1) });
    return;
  }
  const name = wanted.has("frame") ? "frame" : wanted.has("packet") ? "packet" : null;
  if (!name) return;
  const value = Number(wanted.get(name));
  const byFrame = name === "frame" || !transfer.hasNumbers;
  const place = byFrame ? transfer.frame.indexOf(value)
    : transfer.number.findIndex((number, at) => number === value + 1 && transfer.flags[at] & IS_SERVER);
  if (place < 0) {
    byId("detail").textContent = `There is no ${byFrame ? "frame" : "packet of the measured sender with number"} ${wanted.get(name)} here.`;
    return;
  }
  select(view, { transfer, place });
  centre(view, transfer.time[place], 2e7);
}

function address(view, { transfer, place }) {
  const isNumbered = transfer.hasNumbers && transfer.flags[place] & IS_SERVER && transfer.number[place];
  const of = transfer === view.transfers[0] ? "" : "&of=B";
  history.replaceState(null, "", (isNumbered ? `#packet=${transfer.number[place] - 1}` : `#frame=${transfer.frame[place]}`) + of);
}

/** Says what a packet holds and what became of it. */
function select(view, found) {
  view.selected = found;
  const { transfer, place } = found;
  const flags = transfer.flags[place];
  const milliseconds = (value) => `${(value / 1e6).toFixed(3)} ms`;
  const facts = [`${transfer.bytes[place]} bytes`, `at ${(transfer.time[place] / 1e9).toFixed(9)} s`];
  if (flags & IS_SERVER) facts.push(transfer.train[place] > 1 ? `in a train of ${transfer.train[place]}` : "alone");
  if (transfer.flight[place]) facts.push(`${transfer.flight[place] - 1} bytes in flight after it`);
  if (transfer.acked[place]) facts.push(`acknowledged after ${milliseconds(transfer.acked[place] - 1)}`);
  if (transfer.crossed[place]) facts.push(`${milliseconds(transfer.crossed[place] - transfer.smallestCrossing)} in the queue`);
  if (transfer.late[place]) facts.push(`${milliseconds(transfer.late[place] - 1)} later than planned`);
  if (transfer.rtt[place]) facts.push(`RTT ${milliseconds(transfer.rtt[place] - 1)}`);
  if (flags & IS_DROPPED) facts.push("dropped before the tap behind the bottleneck");
  if (flags & IS_LOST) facts.push("declared lost");
  if (flags & IS_RETRANSMISSION) facts.push("repeats bytes");
  const title = document.createElement("strong");
  const which = transfer.number[place] ? ` ${transfer.number[place] - 1}` : "";
  title.textContent = `${flags & IS_SERVER ? "Server" : "Client"}, packet${which}, frame ${transfer.frame[place]} of the capture`
    + (view.transfers.length > 1 ? `, ${transfer.name}` : "");
  const line = document.createElement("p");
  line.textContent = facts.join(" \u00b7 ");
  const content = document.createElement("p");
  content.textContent = transfer.content(place);
  const heading = document.createElement("p");
  heading.append(title);
  byId("detail").replaceChildren(heading, line, content);
}

main().catch((error) => { byId("readout").textContent = `This page cannot be shown: ${error.message}. It needs a browser of 2023 or later.`; });
