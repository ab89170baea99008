import { lookup } from "node:dns/promises";
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { connect } from "node:quic";

import { carry, shakeHands } from "./loads.js";
import { connected } from "./perf.js";
import { chunksOf, protocol, sessionOptions, socketAddress } from "./session.js";
import { RESUMING, fileName } from "./settings.js";

/** How long a server may be unreachable, in milliseconds. */
const PATIENCE = 10_000;
/** How long a session ticket may take to come, in milliseconds. */
const TICKET = 5000;
/** How long the headers of an answer may come after its body, in milliseconds. */
const HEADERS = 100;
/** How long to wait between two attempts, in milliseconds. */
const PAUSE = 100;
/** How long the library may take to close a connection, in milliseconds. */
const CLOSING = 200;

/** Carries what perf is asked for, in one connection or in many; `latencies`, if any, keep how long each exchange or handshake took. */
export async function runPerf(settings, latencies) {
  const where = await resolve(settings);
  if (settings.perfLoad === "handshakes") {
    let isReachable = false;
    const open = async () => {
      // A server may come later than its first client; after that, what fails is a result.
      const attempted = await (isReachable ? attempt(settings, where) : connectPatiently(settings, where));
      await patiently(attempted.session.opened, PATIENCE);
      isReachable = true;
      return attempted;
    };
    await shakeHands(settings, open, latencies);
    return;
  }
  const { session } = await connectPatiently(settings, where);
  connected(session);
  await carry(settings, session, latencies);
  await close(session);
}

/** Fetches every URL over one connection, or over two where the test case resumes a session, and stores the bodies. */
export async function fetchAll(settings) {
  const where = await resolve(settings);
  if (!RESUMING.includes(settings.testCase)) {
    const { session } = await connectPatiently(settings, where);
    await fetchOver(settings, session, settings.requests);
    return;
  }
  const [first, ...others] = settings.requests;
  const { session, ticket } = await connectPatiently(settings, where);
  const sessionTicket = await fetchOver(settings, session, [first], ticket);
  const second = await attempt(settings, where, { sessionTicket });
  if (settings.testCase === "resumption") {
    await patiently(second.session.opened, PATIENCE);
  }
  const { earlyDataAccepted } = await fetchOver(settings, second.session, others, second.session.opened);
  if (settings.testCase === "zerortt" && !earlyDataAccepted) {
    throw new Error("found no early data, expected requests in it");
  }
}

/** Fetches these URLs, settings.streams of them at the same time; then waits for a promise, closes, and returns what it brought. */
async function fetchOver(settings, session, requests, last) {
  const fetchOne = settings.http === "h3" ? fetchH3 : fetchHQ;
  const waiting = [...requests];
  const worker = async () => {
    for (let request = waiting.shift(); request !== undefined; request = waiting.shift()) {
      try {
        await fetchOne(settings, session, request);
      } catch (error) {
        throw new Error(`${request}: ${error.message}`);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(settings.streams, waiting.length) }, worker));
  const brought = last && await patiently(last, TICKET);
  await close(session);
  return brought;
}

/** Closes a connection, but does not wait for its peer for long. */
async function close(session) {
  await Promise.race([session.close(), Bun.sleep(CLOSING)]);
}

/** Address and name of the server, and whom to trust about it. */
async function resolve(settings) {
  const [{ hostname, port }] = settings.requests;
  const name = hostname.replace(/^\[|\]$/g, "");
  const { address } = await lookup(name, { family: settings.ip });
  return { name, address: socketAddress(settings, address, port || 443), ca: [readFileSync(`${settings.certs}/ca.pem`)] };
}

/** Opens a connection; tries again for as long as PATIENCE. */
async function connectPatiently(settings, where) {
  const until = performance.now() + PATIENCE;
  for (;;) {
    try {
      const attempted = await attempt(settings, where);
      await patiently(attempted.session.opened, until - performance.now());
      return attempted;
    } catch (error) {
      if (performance.now() + PAUSE > until) {
        throw new Error(`connecting to ${where.address}: ${error.message}`);
      }
      await Bun.sleep(PAUSE);
    }
  }
}

/** Begins a connection; beside its session there are a promise of the latter's first ticket, and when it began, by Bun.nanoseconds. */
async function attempt(settings, where, resumed = {}) {
  const began = Bun.nanoseconds();
  const { promise: ticket, resolve: onsessionticket } = Promise.withResolvers();
  const session = await connect(where.address, {
    ...sessionOptions(settings),
    ...resumed,
    endpoint: { address: socketAddress(settings, undefined, 0) },
    alpn: protocol(settings),
    servername: where.name,
    ca: where.ca,
    verifyPeer: "strict",
    onsessionticket,
    // What fails is seen where it is awaited.
    onerror() {},
  });
  session.closed.catch(() => {});
  session.opened.catch(() => {});
  return { session, ticket, began };
}

/** What a promise brings within so many milliseconds. */
async function patiently(promise, milliseconds) {
  const brought = await Promise.race([promise, Bun.sleep(milliseconds)]);
  if (brought === undefined) {
    throw new Error("no answer");
  }
  return brought;
}

/** Any status but 200 and any length but the announced one is an error. */
async function fetchH3(settings, session, request) {
  const { promise: answered, resolve: onheaders } = Promise.withResolvers();
  const stream = await session.createBidirectionalStream({
    headers: { ":method": "GET", ":scheme": "https", ":authority": request.host, ":path": request.pathname },
    onheaders,
  });
  stream.closed.catch(() => {});
  const length = await store(settings, stream, request);
  // Of an answer that came as one packet the body can be told before the headers.
  const answer = await patiently(answered, HEADERS);
  if (answer[":status"] !== "200") {
    throw new Error(`found status ${answer[":status"]}, expected 200`);
  }
  const announced = answer["content-length"];
  if (announced !== undefined && Number(announced) !== length) {
    throw new Error(`found ${length} bytes, expected ${announced}`);
  }
}

async function fetchHQ(settings, session, request) {
  const stream = await session.createBidirectionalStream({ body: Buffer.from(`GET ${request.pathname}\r\n`) });
  stream.closed.catch(() => {});
  await store(settings, stream, request);
}

/** Writes what a stream brings into the file that is named after its request, and returns its length in bytes. */
async function store(settings, stream, request) {
  const file = openSync(`${settings.downloads}/${fileName(request)}`, "w");
  let length = 0;
  try {
    for await (const chunk of chunksOf(stream)) {
      for (let written = 0; written < chunk.length; ) {
        written += writeSync(file, chunk, written);
      }
      length += chunk.length;
    }
  } finally {
    closeSync(file);
  }
  return length;
}
