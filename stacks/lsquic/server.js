import { createPrivateKey } from "node:crypto";
import { closeSync, fstatSync, openSync, readFileSync, readSync } from "node:fs";
import { listen } from "node:quic";

import { answer as answerPerf, connected } from "./perf.js";
import { chunksOf, protocol, sessionOptions, socketAddress } from "./session.js";
import { fileOf, parseRequestLine } from "./settings.js";

/** How much of a file is read at once, in bytes. */
const CHUNK = 256 * 1024;
/** Resets the stream of a request that cannot be answered: HTTP/0.9 has no status. */
const FAILED = 1n;

/** Answers from settings.www until the process is killed. */
export async function serve(settings) {
  const identity = {
    keys: [createPrivateKey(readFileSync(`${settings.certs}/priv.key`))],
    certs: [readFileSync(`${settings.certs}/cert.pem`)],
  };
  const isPerf = settings.testCase === "perf";
  const answers = isPerf ? { onstream(stream) { answerPerf(stream); } } : settings.http === "h3"
    ? { onstream() {}, onheaders(headers) { answerH3(settings, this, headers); } }
    : { onstream(stream) { answerHQ(settings, stream); } };
  const onsession = (session) => {
    if (isPerf) {
      session.opened.then(() => connected(session), () => {});
    }
  };
  await listen(onsession, {
    ...sessionOptions(settings),
    ...answers,
    endpoint: { address: socketAddress(settings, undefined, settings.port), ipv6Only: settings.ip === 6 },
    alpn: [protocol(settings)],
    // Whether tickets allow it. A client of LSQUIC uses a session without early data only where the ticket does not.
    enableEarlyData: settings.testCase !== "resumption",
    sni: { "*": identity },
    // A client that goes away is no error of the server's.
    onerror() {},
  });
}

function answerH3(settings, stream, headers) {
  ignoreEnd(stream);
  const file = open(settings, headers[":method"] === "GET" ? headers[":path"] : undefined);
  if (file === undefined) {
    stream.sendHeaders({ ":status": "404" }, { terminal: true });
    return;
  }
  stream.sendHeaders({ ":status": "200", "content-length": String(file.size) });
  stream.setBody(contents(file));
}

async function answerHQ(settings, stream) {
  ignoreEnd(stream);
  try {
    const request = [];
    for await (const chunk of chunksOf(stream)) {
      request.push(chunk);
    }
    const file = open(settings, parseRequestLine(Buffer.concat(request).toString()));
    if (file === undefined) {
      stream.resetStream(FAILED);
    } else {
      stream.setBody(contents(file));
    }
  } catch {
    // The client has gone.
  }
}

/** How a stream ends is the client's to judge. */
function ignoreEnd(stream) {
  stream.closed.catch(() => {});
}

/** Descriptor and size of the file that a path names; undefined where there is none. */
function open(settings, path) {
  const name = path === undefined ? undefined : fileOf(settings.www, path);
  if (name === undefined) {
    return undefined;
  }
  try {
    const descriptor = openSync(name);
    const found = fstatSync(descriptor);
    if (found.isFile()) {
      return { descriptor, size: found.size };
    }
    closeSync(descriptor);
  } catch {
    // Not there, or not readable.
  }
  return undefined;
}

/** The contents of a file in pieces, read as they are asked for. */
async function* contents(file) {
  try {
    for (;;) {
      const chunk = new Uint8Array(CHUNK);
      const length = readSync(file.descriptor, chunk);
      if (length === 0) {
        return;
      }
      yield chunk.subarray(0, length);
    }
  } finally {
    closeSync(file.descriptor);
  }
}
