import { lookup } from "node:dns/promises";
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { connect } from "node:quic";

import { chunksOf, protocol, sessionOptions, socketAddress } from "./session.js";
import { fileName } from "./settings.js";

/** How long a server may be unreachable, in milliseconds. */
const PATIENCE = 10_000;
/** How long to wait between two attempts, in milliseconds. */
const PAUSE = 100;
/** How long the library may take to close a connection, in milliseconds. */
const CLOSING = 200;

/** Fetches every URL over one connection, settings.streams of them at the same time, and stores the bodies. */
export async function fetchAll(settings) {
  const session = await connectPatiently(settings);
  const fetchOne = settings.http === "h3" ? fetchH3 : fetchHQ;
  const waiting = [...settings.requests];
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
  await Promise.race([session.close(), Bun.sleep(CLOSING)]);
}

/** Opens a connection; tries again for as long as PATIENCE. */
async function connectPatiently(settings) {
  const [{ hostname, port }] = settings.requests;
  const name = hostname.replace(/^\[|\]$/g, "");
  const { address } = await lookup(name, { family: settings.ip });
  const until = performance.now() + PATIENCE;
  for (;;) {
    const left = until - performance.now();
    try {
      return await attempt(settings, socketAddress(settings, address, port || 443), name, left);
    } catch (error) {
      if (performance.now() + PAUSE > until) {
        throw new Error(`connecting to ${hostname}: ${error?.message ?? "no answer"}`);
      }
      await Bun.sleep(PAUSE);
    }
  }
}

/** One attempt, of at most so many milliseconds. */
async function attempt(settings, address, name, patience) {
  const session = await connect(address, {
    ...sessionOptions(settings),
    endpoint: { address: socketAddress(settings, undefined, 0) },
    alpn: protocol(settings),
    servername: name,
    ca: [readFileSync(`${settings.certs}/ca.pem`)],
    verifyPeer: "strict",
    // What fails is seen where it is awaited.
    onerror() {},
  });
  session.closed.catch(() => {});
  const opened = await Promise.race([session.opened, Bun.sleep(patience)]);
  if (opened === undefined) {
    throw new Error("no answer");
  }
  return session;
}

/** Any status but 200 and any length but the announced one is an error. */
async function fetchH3(settings, session, request) {
  let answer;
  const stream = await session.createBidirectionalStream({
    headers: { ":method": "GET", ":scheme": "https", ":authority": request.host, ":path": request.pathname },
    onheaders(headers) { answer ??= headers; },
  });
  stream.closed.catch(() => {});
  const length = await store(settings, stream, request);
  if (answer?.[":status"] !== "200") {
    throw new Error(`found status ${answer?.[":status"]}, expected 200`);
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
