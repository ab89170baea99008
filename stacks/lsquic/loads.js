// What the client of perf does with its URLs: QUICLAB_PERF_LOAD. Read perf.js first.
import { HEAD, connected, exchange } from "./perf.js";

/** How long the exchange of one connection of many may take, in milliseconds. */
const PATIENCE = 10_000;
/** How long the library may take to close a connection, and how long connections may go on after the time is over, in milliseconds. */
const CLOSING = 200;

/** Bytes of the request and of the response on each stream, in the order in which they are opened. */
export function plan(load, sizes, urls) {
  const { request, response } = sizes;
  const ofOneUrl = load === "bidirectional" ? [{ request, response: 0 }, { request: HEAD, response }] : [sizes];
  return Array.from({ length: urls }, () => ofOneUrl).flat();
}

/** Makes the exchanges of one connection, whose handshake is complete. */
export async function carry(settings, session, latencies) {
  const waiting = plan(settings.perfLoad, settings.perf, settings.requests.length);
  const repeats = settings.perfLoad === "requests";
  await concurrently(settings, waiting.length, async (isOver) => {
    for (let sizes = waiting.shift(); sizes !== undefined && !isOver(); sizes = repeats ? sizes : waiting.shift()) {
      await exchange(sizes, session, latencies);
    }
  });
}

/**
 * Makes connections, one after the other, as many at a time as there are URLs, and one small exchange on each. `open` brings a session
 * with a complete handshake, and when it began.
 */
export async function shakeHands(settings, open, latencies) {
  const { all } = await concurrently(settings, settings.requests.length, async (isOver) => {
    while (!isOver()) {
      const { session, began } = await open();
      latencies?.record(Bun.nanoseconds() - began);
      connected(session);
      const exchanged = exchange({ request: HEAD, response: 0 }, session).then(() => true);
      if (!(await Promise.race([exchanged, Bun.sleep(PATIENCE)]))) {
        throw new Error(`no response after ${PATIENCE / 1000} s`);
      }
      await Promise.race([session.close(), Bun.sleep(CLOSING)]);
    }
  });
  // Those that are begun are finished, so that the server knows them all.
  await Promise.race([all, Bun.sleep(CLOSING)]);
}

/** Runs `one` as often at the same time as there are things to do and the settings allow, until `all` return or the time is over. */
async function concurrently(settings, count, one) {
  let over = false;
  const all = Promise.all(Array.from({ length: Math.min(settings.streams, count) }, () => one(() => over)));
  // Whatever is not complete when the time of perf is over ends with the connection.
  await (settings.perfDuration > 0 ? Promise.race([all, Bun.sleep(settings.perfDuration)]) : all);
  over = true;
  return { all };
}
