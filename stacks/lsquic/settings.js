// What this endpoint was asked to do: the endpoint contract, read from the environment.

/** Values of the settings that this endpoint can honour; the first one is used where nothing is asked. */
export const CHOICES = {
  QUICLAB_CCA: ["bbr", "cubic"],
  QUICLAB_GSO: ["off"],
  QUICLAB_HTTP: ["h3", "hq"],
  QUICLAB_IP: ["4", "6"],
  QUICLAB_PACING: ["user"],
};

/** Values of TESTCASE by role. Bun's switches for Retry, for one cipher suite and for a key update do nothing. */
export const TEST_CASES = {
  server: ["handshake", "transfer", "resumption", "zerortt", "v2", "http3", "perf"],
  client: ["handshake", "transfer", "resumption", "zerortt", "v2", "http3", "perf"],
};
/** Values of QUICLAB_PERF_LOAD; the first one is used where nothing is asked. */
export const LOADS = ["bulk", "bidirectional", "requests", "handshakes"];
/** Those that repeat until their time is over, and whose latencies can be asked for. */
export const REPEATING = ["requests", "handshakes"];
/** Settings of the test case perf: those of its client, and all. */
const OF_CLIENT = ["QUICLAB_PERF_REQUEST", "QUICLAB_PERF_RESPONSE", "QUICLAB_PERF_DURATION", "QUICLAB_PERF_LOAD", "QUICLAB_PERF_LATENCIES"];
const PERF = [...OF_CLIENT, "QUICLAB_PERF_PROGRESS", "QUICLAB_PERF_INTERVAL"];
/** Most bytes that can be asked for: a number of JavaScript. */
const MOST = Number.MAX_SAFE_INTEGER;
/** Those whose client fetches over two connections. */
export const RESUMING = ["resumption", "zerortt"];

/** A request that is well-formed, but not something this endpoint can do: exit status 127. */
export class NotSupported extends Error {}

/**
 * Reads the contract from an environment. Throws NotSupported (exit status 127) for what cannot be honoured, and any other
 * error (exit status 1) for what cannot be understood.
 */
export function parseSettings(environment) {
  const role = environment.ROLE;
  refuseUnsupported(environment);
  if (role !== "server" && role !== "client") {
    throw new Error(`ROLE: found ${JSON.stringify(role)}, expected server or client`);
  }
  const requests = role === "client" ? parseRequests(environment.REQUESTS ?? "") : [];
  if (requests.length === 1 && RESUMING.includes(environment.TESTCASE)) {
    throw new Error(`REQUESTS: found one URL, expected one for each of the two connections of ${environment.TESTCASE}`);
  }
  const streams = parseNumber(environment, "QUICLAB_STREAMS", Infinity, 2 ** 31);
  if (streams === 0) {
    throw new Error("QUICLAB_STREAMS: found 0, expected at least 1");
  }
  return {
    role,
    testCase: environment.TESTCASE,
    // URLs that the client fetches, all of one host and port; none for a server.
    requests,
    www: environment.WWW ?? "/www",
    downloads: environment.DOWNLOADS ?? "/downloads",
    certs: environment.CERTS ?? "/certs",
    // File that TLS secrets are appended to; empty: none.
    keyLog: environment.SSLKEYLOGFILE ?? "",
    congestionControl: environment.QUICLAB_CCA ?? CHOICES.QUICLAB_CCA[0],
    http: environment.QUICLAB_HTTP ?? CHOICES.QUICLAB_HTTP[0],
    // 4 or 6.
    ip: Number(environment.QUICLAB_IP ?? CHOICES.QUICLAB_IP[0]),
    // Most requests that are open at the same time.
    streams,
    port: parseNumber(environment, "QUICLAB_PORT", 443, 65535),
    ...parsePerf(environment, role),
  };
}

/** Throws NotSupported for the first variable, in order of name, that asks for what this endpoint cannot do. */
function refuseUnsupported(environment) {
  const refuse = (name, supported) => {
    throw new NotSupported(`${name}: found ${JSON.stringify(environment[name])}, this endpoint supports ${supported}`);
  };
  const cases = TEST_CASES[environment.ROLE] ?? TEST_CASES.client;
  if (!cases.includes(environment.TESTCASE)) {
    refuse("TESTCASE", cases.join(", "));
  }
  if (environment.TESTCASE === "http3" && environment.QUICLAB_HTTP === "hq") {
    refuse("QUICLAB_HTTP", "h3 beside TESTCASE=http3");
  }
  for (const name of Object.keys(environment).sort()) {
    const value = environment[name];
    if (name in CHOICES) {
      if (!CHOICES[name].includes(value)) {
        refuse(name, CHOICES[name].join(", "));
      }
    } else if (name === "QUICLAB_CERT_DELAY") {
      // A client has nothing to do; a server has its certificate at once.
      if (parseNumber(environment, name, 0, 3_600_000) !== 0 && environment.ROLE === "server") {
        refuse(name, "0");
      }
    } else if (PERF.includes(name)) {
      if (environment.TESTCASE !== "perf" || (OF_CLIENT.includes(name) && environment.ROLE === "server")) {
        refuse(name, `it with TESTCASE=perf${OF_CLIENT.includes(name) ? " of a client" : ""}`);
      }
      if (name === "QUICLAB_PERF_LOAD" && !LOADS.includes(value)) {
        refuse(name, LOADS.join(", "));
      }
    } else if (name.startsWith("QUICLAB_") && name !== "QUICLAB_PORT" && name !== "QUICLAB_STREAMS") {
      refuse(name, "no such setting");
    } else if ((name === "SERVER_PARAMS" || name === "CLIENT_PARAMS") && value !== "") {
      refuse(name, "no parameters");
    }
  }
}

/** What perf is asked for: bytes of a request and of a response, milliseconds (0: until all is complete), and lines of progress. */
function parsePerf(environment, role) {
  const [request, response, duration, load, latencies, progress, interval] = PERF;
  const parsed = {
    perf: undefined,
    perfDuration: parseNumber(environment, duration, 0, MOST),
    // One of LOADS.
    perfLoad: environment[load] ?? LOADS[0],
    // File that the latencies of a load that repeats are written to; empty: none.
    perfLatencies: environment[latencies] ?? "",
    // Empty: none.
    perfProgress: environment[progress] ?? "",
    perfInterval: parseNumber(environment, interval, 1000, 60_000),
  };
  if (environment.TESTCASE === "perf" && role === "client") {
    parsed.perf = { request: parseNumber(environment, request, -1, MOST), response: parseNumber(environment, response, -1, MOST) };
    if (parsed.perf.request < 8) {
      throw new Error(`${request}: found ${JSON.stringify(environment[request])}, expected at least 8`);
    }
    if (parsed.perf.response < 0) {
      throw new Error(`${response}: found nothing, expected a number of bytes`);
    }
  }
  if (environment[duration] !== undefined && parsed.perfDuration === 0) {
    throw new Error(`${duration}: found 0, expected at least 1`);
  }
  const repeats = REPEATING.includes(parsed.perfLoad);
  if (repeats && parsed.perfDuration === 0) {
    throw new Error(`${load}: found ${JSON.stringify(parsed.perfLoad)}, expected ${duration} beside it`);
  }
  if (!repeats && parsed.perfLatencies !== "") {
    throw new Error(`${latencies}: found ${load} ${JSON.stringify(parsed.perfLoad)}, expected ${REPEATING.join(" or ")}`);
  }
  if (parsed.perfInterval < 10 || (environment[interval] !== undefined && parsed.perfProgress === "")) {
    throw new Error(`${interval}: found ${JSON.stringify(environment[interval])}, expected at least 10, and ${progress}`);
  }
  return parsed;
}

function parseNumber(environment, name, unset, largest) {
  const found = environment[name];
  if (found === undefined) {
    return unset;
  }
  if (!/^[0-9]+$/.test(found) || Number(found) > largest) {
    throw new Error(`${name}: found ${JSON.stringify(found)}, expected a whole number up to ${largest}`);
  }
  return Number(found);
}

/** Reads URLs with spaces between them, at least one, all of one host and port. */
function parseRequests(text) {
  const requests = text.split(/\s+/).filter(Boolean).map((field) => {
    const request = URL.canParse(field) ? new URL(field) : undefined;
    if (request?.protocol !== "https:" || request.pathname.endsWith("/")) {
      throw new Error(`REQUESTS: found ${JSON.stringify(field)}, expected https://HOST[:PORT]/FILE`);
    }
    return request;
  });
  if (requests.length === 0) {
    throw new Error(`REQUESTS: found ${JSON.stringify(text)}, expected at least one URL`);
  }
  for (const request of requests) {
    if (request.host !== requests[0].host) {
      throw new Error(`REQUESTS: found host ${JSON.stringify(request.host)}, expected the same host and port in every URL`);
    }
  }
  return requests;
}

/** The name that the answer to a request is stored under. */
export function fileName(request) {
  return decodeURIComponent(request.pathname.split("/").at(-1));
}

/** The path that a request of HTTP/0.9 asks for; undefined where it is none. */
export function parseRequestLine(request) {
  return /^GET (\/[^\r\n ]*)[\r\n ]*$/.exec(request)?.[1];
}

/** The file of a folder that a path names; undefined where it would leave the folder, or names none. */
export function fileOf(folder, path) {
  let parts;
  try {
    parts = decodeURIComponent(path.split("?")[0]).split("/").slice(1);
  } catch {
    return undefined;
  }
  return parts.some((part) => part === "" || part === "." || part === ".." || part.includes("\0")) ? undefined : [folder, ...parts].join("/");
}
