(function () {
  "use strict";
  const svg = document.getElementById("timeline");
  const tell = document.getElementById("readout");
  if (!svg || !tell) return;
  const left = +svg.dataset.left, width = +svg.dataset.width, duration = +svg.dataset.duration;
  const bottom = +svg.dataset.bottom, record = svg.parentNode.dataset.record;
  const smallest = Math.min(duration, 20000); // ns
  let from = 0, to = duration, pressed = null, at = null;
  const make = (name, attributes) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) node.setAttribute(key, attributes[key]);
    return node;
  };
  const curves = svg.querySelectorAll(".z"), ticks = svg.querySelector(".ticks");
  const selection = svg.appendChild(make("rect", { class: "selection", y: 0, height: bottom, width: 0 }));
  const cursor = svg.appendChild(make("path", { class: "cursor", d: "" }));
  const place = (time) => left + ((time - from) / (to - from)) * width;
  const seconds = (time, decimals) => (time / 1e9).toFixed(decimals);

  function draw() {
    const scale = duration / (to - from), shift = left - scale * (left + (from / duration) * width);
    curves.forEach((curve) => curve.setAttribute("transform", `matrix(${scale} 0 0 1 ${shift} 0)`));
    ticks.replaceChildren();
    const least = (to - from) / 10, magnitude = 10 ** Math.floor(Math.log10(least));
    const step = [1, 2, 5, 10].find((factor) => factor * magnitude >= least * (1 - 1e-9)) * magnitude;
    const decimals = Math.max(0, -Math.floor(Math.log10(step / 1e9) + 1e-9));
    for (let tick = Math.ceil(from / step - 1e-9) * step; tick <= to * (1 + 1e-12); tick += step) {
      const x = place(tick);
      ticks.append(make("path", { class: "tick", d: `M${x} ${bottom}V${bottom + 5}` }));
      const text = make("text", { x: x, y: bottom + 18, "text-anchor": "middle" });
      text.textContent = seconds(tick, decimals);
      ticks.append(text);
    }
    say();
  }
  function zoom(first, last) {
    const span = Math.min(duration, Math.max(smallest, last - first));
    from = Math.max(0, Math.min(duration - span, (first + last - span) / 2));
    to = from + span;
    draw();
  }
  function say() {
    const span = to - from < duration ? `${seconds(from, 6)} to ${seconds(to, 6)} s` : "the whole run";
    const around = Math.round(at === null ? (from + to) / 2 : at);
    const half = Math.max(1, Math.round(Math.min(5e6, (to - from) / 2) / 1000));
    tell.textContent = `${span}${at === null ? "" : `; at the pointer: ${seconds(at, 6)} s`}`;
    document.getElementById("command").textContent =
      `quiclab packets ${record} --around ${seconds(around, 6)}s --span ${half}us`;
  }
  function time(event) {
    const box = svg.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
    return from + (Math.min(width, Math.max(0, x - left)) / width) * (to - from);
  }
  svg.addEventListener("pointerdown", (event) => {
    pressed = time(event);
    svg.setPointerCapture(event.pointerId);
    event.preventDefault();
    svg.focus();
  });
  svg.addEventListener("pointermove", (event) => {
    at = time(event);
    cursor.setAttribute("d", `M${place(at)} 0V${bottom}`);
    if (pressed !== null) {
      selection.setAttribute("x", place(Math.min(pressed, at)));
      selection.setAttribute("width", Math.abs(place(at) - place(pressed)));
    }
    say();
  });
  svg.addEventListener("pointerup", (event) => {
    const now = time(event), begin = pressed;
    pressed = null;
    selection.setAttribute("width", 0);
    if (begin !== null && Math.abs(place(now) - place(begin)) > 4) zoom(Math.min(begin, now), Math.max(begin, now));
  });
  svg.addEventListener("pointerleave", () => {
    at = null;
    cursor.setAttribute("d", "");
    say();
  });
  const reset = () => zoom(0, duration);
  svg.addEventListener("dblclick", reset);
  document.getElementById("reset").addEventListener("click", reset);
  svg.setAttribute("tabindex", "0");
  svg.addEventListener("keydown", (event) => {
    const span = to - from, middle = at === null ? (from + to) / 2 : at;
    const around = (factor) => zoom(middle - (middle - from) * factor, middle + (to - middle) * factor);
    const keys = {
      "+": () => around(0.5), "=": () => around(0.5), "-": () => around(2),
      ArrowLeft: () => zoom(from - span / 4, to - span / 4), ArrowRight: () => zoom(from + span / 4, to + span / 4),
      Home: () => zoom(0, span), End: () => zoom(duration - span, duration), 0: reset, Escape: reset,
    };
    if (!keys[event.key]) return;
    if (span >= duration && event.key.startsWith("Arrow")) return;
    keys[event.key]();
    event.preventDefault();
  });
  document.querySelectorAll("[data-from]").forEach((button) => {
    button.hidden = false;
    button.addEventListener("click", () => {
      zoom(+button.dataset.from, +button.dataset.to);
      svg.scrollIntoView({ block: "nearest" });
    });
  });
  document.getElementById("controls").hidden = false;
  draw();
})();
