// Measures pages of `quiclab look` in headless Chromium: time to load, and frames a second while they zoom and move.
// Usage: node measure.mjs PAGE... [SCREENSHOT-FOLDER]. Several pages are measured in turn, three times each. Exits with 1 if the
// first page misses a bound; pictures are those of the first page.
import { mkdirSync, statSync } from "node:fs";
import { loadavg } from "node:os";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const LONGEST_LOAD_MS = 2000;
const FEWEST_FRAMES = 30;
const MOST_BYTES = 10 * 1024 * 1024;

const pages = process.argv.slice(2).filter((path) => path.endsWith(".html"));
const pictures = process.argv.slice(2).find((path) => !path.endsWith(".html"));
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"],
});

async function opened(page, width, height, colorScheme) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme });
  const tab = await context.newPage();
  const errors = [];
  tab.on("pageerror", (error) => errors.push(error.message));
  tab.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  const start = performance.now();
  await tab.goto(pathToFileURL(resolve(page)).href);
  await tab.waitForFunction(() => document.documentElement.dataset.loadMs, null, { timeout: 60000 });
  return { tab, context, errors, loadMs: performance.now() - start };
}

async function measured(page) {
  const { tab, context, errors, loadMs } = await opened(page, 1400, 900, "light");
  const frames = await tab.evaluate(async () => {
    const view = globalThis.quiclabView;
    const drawn = [];
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    const begin = performance.now();
    let last = begin;
    // All of it, moved and zoomed a little in each frame: the hardest case, since nearly every packet is in view.
    for (let step = 0; step < 90; step += 1) {
      await frame();
      if (step % 2) view.zoom(1 + 0.2 * Math.sin(step)); else view.move(0.05 * Math.cos(step));
      if (step % 15 === 0) view.show(0, view.end);
      view.draw();
      // Waits for what was drawn.
      view.context.getImageData(0, 0, 1, 1);
      const now = performance.now();
      drawn.push(now - last);
      last = now;
    }
    drawn.sort((one, other) => one - other);
    return { perSecond: (90 * 1000) / (last - begin), slowestTenthMs: drawn[81], packets: view.transfers[0].count };
  });
  await context.close();
  return { page, bytes: statSync(page).size, load: loadavg()[0], loadMs: Math.round(loadMs), ...frames, errors };
}

const all = [];
for (let round = 0; round < (pages.length > 1 ? 3 : 1); round += 1) for (const page of pages) all.push(await measured(page));
const { errors } = all[0];
if (pictures) {
  mkdirSync(pictures, { recursive: true });
  for (const width of [1400, 400]) {
    for (const scheme of ["light", "dark"]) {
      const one = await opened(pages[0], width, 900, scheme);
      await one.tab.screenshot({ path: `${pictures}/look-${width}-${scheme}.png`, fullPage: true });
      const overflow = await one.tab.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (overflow > 0) errors.push(`at ${width} pixels the page is ${overflow} pixels too wide`);
      await one.context.close();
    }
  }
}
await browser.close();
for (const one of all) console.log(JSON.stringify(one));
const isMissed = ({ errors, loadMs, perSecond, bytes }) =>
  errors.length || loadMs > LONGEST_LOAD_MS || perSecond < FEWEST_FRAMES || bytes > MOST_BYTES;
process.exit(all.some((one) => one.page === pages[0] && isMissed(one)) ? 1 : 0);
