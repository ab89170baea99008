// draft-banks-quic-performance: numbers of bytes in both directions, without files. Nothing of them is kept.
import { closeSync, openSync, writeSync } from "node:fs";

import { chunksOf } from "./session.js";

/** Bytes of a request that have a meaning, section 2.3. */
export const HEAD = 8;
/** Largest piece that is handed over at once, in bytes. */
const CHUNK = 64 * 1024;
/** What is sent. */
const ZEROS = new Uint8Array(CHUNK);
/** Resets a stream whose request has no answer; the draft has no codes. */
const FAILED = 1n;

/** What this process has carried so far. */
const counters = { sent: 0, received: 0, exchanges: 0, connections: 0, session: undefined };

/** The handshake of this session is complete. */
export function connected(session) {
  counters.connections += 1;
  counters.session = session;
}

/** Appends lines of progress to the file of the settings, until the function that it returns is called, which appends the last one. */
export function report(settings) {
  if (settings.perfProgress === "") {
    return () => {};
  }
  const file = openSync(settings.perfProgress, "a");
  const write = () => writeSync(file, line(Bun.nanoseconds()));
  write();
  const timer = setInterval(write, settings.perfInterval);
  return () => {
    clearInterval(timer);
    write();
    closeSync(file);
  };
}

/** A line of progress. */
export function line(now) {
  const { sent, received, exchanges, connections, session } = counters;
  return `${JSON.stringify({ monotonic_ns: now, sent, received, exchanges, connections, ...pathOf(session) })}\n`;
}

/** What a session knows of its path; Bun has zeros for what it does not fill in. */
function pathOf(session) {
  const stats = session?.stats;
  const known = (value) => (value === undefined || value === 0n ? null : Number(value));
  return { rtt_ns: known(stats?.smoothedRtt), window: known(stats?.cwnd), lost: stats ? Number(stats.pktLost) : null };
}

/** Makes one exchange on a stream of its own; `latencies`, if any, keep how long it took. */
export async function exchange({ request, response }, session, latencies) {
  const created = Bun.nanoseconds();
  const stream = await session.createBidirectionalStream();
  stream.closed.catch(() => {});
  const mayWait = stream.pending;
  const handedOver = Bun.nanoseconds();
  stream.setBody(zeros(request, head(response)));
  let received = 0;
  for await (const chunk of chunksOf(stream)) {
    received += chunk.length;
    counters.received += chunk.length;
    if (received > response) {
      break;
    }
  }
  if (received !== response) {
    throw new Error(`found a response of ${received} bytes, expected ${response}`);
  }
  counters.exchanges += 1;
  if (latencies) {
    const ended = Bun.nanoseconds();
    // Bun keeps a stream back until the server allows it, which is no part of a latency. Its own times are of another clock.
    const opened = mayWait ? created + Number(stream.stats.openedAt - stream.stats.createdAt) : created;
    latencies.record(ended - Math.max(handedOver, opened));
  }
}

/** Answers a request, once it is complete. */
export async function answer(stream) {
  stream.closed.catch(() => {});
  const first = Buffer.alloc(HEAD);
  let received = 0;
  try {
    for await (const chunk of chunksOf(stream)) {
      if (received < HEAD) {
        first.set(chunk.subarray(0, HEAD - received), received);
      }
      received += chunk.length;
      counters.received += chunk.length;
    }
    if (stream.direction === "uni") {
      return;
    }
    if (received < HEAD) {
      stream.resetStream(FAILED);
      return;
    }
    stream.setBody(zeros(Number(first.readBigUInt64BE()), undefined, () => (counters.exchanges += 1)));
  } catch {
    // The client has gone.
  }
}

/** The number of bytes of the response, as a request begins with it. */
export function head(response) {
  const bytes = Buffer.alloc(HEAD);
  bytes.writeBigUInt64BE(BigInt(response));
  return bytes;
}

/** So many bytes in pieces, the first of which begin with `first`; they are counted as they are asked for. */
export async function* zeros(bytes, first = new Uint8Array(0), whenDone = () => {}) {
  let left = bytes;
  if (first.length > 0) {
    left -= first.length;
    counters.sent += first.length;
    yield first;
  }
  while (left > 0) {
    const length = Math.min(left, CHUNK);
    left -= length;
    counters.sent += length;
    yield length === CHUNK ? ZEROS : ZEROS.subarray(0, length);
  }
  whenDone();
}
