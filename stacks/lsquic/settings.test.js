import { expect, test } from "bun:test";
import { inflateSync } from "node:zlib";

import { Latencies, MOST } from "./latencies.js";
import { plan } from "./loads.js";
import { head, line, zeros } from "./perf.js";
import { CHOICES, LOADS, NotSupported, REPEATING, TEST_CASES, fileName, fileOf, parseRequestLine, parseSettings } from "./settings.js";

const plain = { ROLE: "client", TESTCASE: "transfer", REQUESTS: "https://server:4433/file10M" };
const perf = { TESTCASE: "perf", QUICLAB_PERF_REQUEST: "8", QUICLAB_PERF_RESPONSE: "1" };
const parse = (changes = {}) => parseSettings({ ...plain, ...changes });

test("a plain transfer needs no settings", () => {
  expect(parse()).toMatchObject({ port: 443, www: "/www", keyLog: "", http: "h3", congestionControl: "bbr", ip: 4, streams: Infinity });
});

test("every declared setting is honoured", () => {
  for (const [name, values] of Object.entries(CHOICES)) {
    for (const value of values) {
      expect(() => parse({ [name]: value })).not.toThrow();
    }
  }
  for (const [role, cases] of Object.entries(TEST_CASES)) {
    for (const testCase of cases) {
      const sizes = testCase === "perf" && role === "client" ? { QUICLAB_PERF_REQUEST: "8", QUICLAB_PERF_RESPONSE: "0" } : {};
      expect(() => parse({ ROLE: role, TESTCASE: testCase, REQUESTS: "https://server/a https://server/b", ...sizes })).not.toThrow();
    }
  }
  expect(parse({ QUICLAB_STREAMS: "4", QUICLAB_IP: "6", QUICLAB_CERT_DELAY: "200" })).toMatchObject({ streams: 4, ip: 6 });
});

test("what it cannot do is refused and not ignored", () => {
  for (const changes of [
    { TESTCASE: "multiconnect" },
    { TESTCASE: undefined },
    { TESTCASE: "retry" },
    { TESTCASE: "chacha20" },
    { TESTCASE: "keyupdate" },
    { TESTCASE: "http3", QUICLAB_HTTP: "hq" },
    { QUICLAB_CCA: "reno" },
    { QUICLAB_CCA: "" },
    { QUICLAB_GSO: "on" },
    { QUICLAB_PACING: "txtime" },
    { QUICLAB_HTTP: "h2" },
    { QUICLAB_IP: "5" },
    { QUICLAB_NO_SUCH_SETTING: "1" },
    { ROLE: "server", QUICLAB_CERT_DELAY: "200" },
    { SERVER_PARAMS: "--anything" },
    { QUICLAB_PERF_REQUEST: "8" },
    { QUICLAB_PERF_PROGRESS: "/p" },
    { ROLE: "server", TESTCASE: "perf", QUICLAB_PERF_DURATION: "1" },
    { QUICLAB_PERF_LOAD: "bulk" },
    { ROLE: "server", TESTCASE: "perf", QUICLAB_PERF_LOAD: "bulk" },
    { ROLE: "server", TESTCASE: "perf", QUICLAB_PERF_LATENCIES: "/l" },
    { ...perf, QUICLAB_PERF_LOAD: "floods" },
  ]) {
    expect(() => parse(changes)).toThrow(NotSupported);
  }
});

test("what it cannot read is a failure", () => {
  for (const changes of [
    { ROLE: "observer" },
    { REQUESTS: "" },
    { TESTCASE: "resumption" },
    { REQUESTS: "http://server/file" },
    { REQUESTS: "https://server:4433/" },
    { REQUESTS: "https://server:70000/file" },
    { REQUESTS: "https://server/a https://other/b" },
    { QUICLAB_PORT: "65536" },
    { QUICLAB_STREAMS: "0" },
    { QUICLAB_STREAMS: "many" },
    { TESTCASE: "perf" },
    { TESTCASE: "perf", QUICLAB_PERF_REQUEST: "7", QUICLAB_PERF_RESPONSE: "1" },
    { ...perf, QUICLAB_PERF_DURATION: "0" },
    { ...perf, QUICLAB_PERF_INTERVAL: "50" },
    { ...perf, QUICLAB_PERF_LOAD: "requests" },
    { ...perf, QUICLAB_PERF_LOAD: "handshakes" },
    { ...perf, QUICLAB_PERF_DURATION: "1", QUICLAB_PERF_LATENCIES: "/l" },
    { ...perf, QUICLAB_PERF_DURATION: "1", QUICLAB_PERF_LATENCIES: "/l", QUICLAB_PERF_LOAD: "bidirectional" },
  ]) {
    let found;
    try {
      parse(changes);
    } catch (error) {
      found = error;
    }
    expect(found).toBeInstanceOf(Error);
    expect(found).not.toBeInstanceOf(NotSupported);
  }
});

test("perf sends a head and zeros in pieces, and keeps nothing", async () => {
  const pieces = [];
  for await (const piece of zeros(150_000, head(70_000))) {
    pieces.push(Buffer.from(piece));
  }
  const bytes = Buffer.concat(pieces);
  expect([bytes.length, bytes.readBigUInt64BE(), Math.max(...pieces.map((piece) => piece.length))]).toEqual([150_000, 70_000n, 65_536]);
  const found = JSON.parse(line(9));
  expect(found).toEqual({ monotonic_ns: 9, sent: 150_000, received: 0, exchanges: 0, connections: 0, rtt_ns: null, window: null, lost: null });
});

test("a load is asked for by its name", () => {
  expect(parse(perf)).toMatchObject({ perfLoad: "bulk", perfLatencies: "" });
  for (const load of LOADS) {
    expect(parse({ ...perf, QUICLAB_PERF_LOAD: load, QUICLAB_PERF_DURATION: "250" }).perfLoad).toBe(load);
  }
  for (const load of REPEATING) {
    const found = parse({ ...perf, QUICLAB_PERF_LOAD: load, QUICLAB_PERF_DURATION: "250", QUICLAB_PERF_LATENCIES: "/l" });
    expect(found.perfLatencies).toBe("/l");
  }
  const sizes = { request: 100, response: 1000 };
  expect(plan("requests", sizes, 2)).toEqual([sizes, sizes]);
  const [up, down] = [{ request: 100, response: 0 }, { request: 8, response: 1000 }];
  expect(plan("bidirectional", sizes, 2)).toEqual([up, down, up, down]);
});

test("latencies are serialised as another library does it", () => {
  const content = (text) => inflateSync(Buffer.from(text, "base64").subarray(8)).toString("hex");
  const latencies = new Latencies();
  latencies.record(30_000);
  latencies.record(7_000_000);
  latencies.record(2_000_000_000);
  // The same three values, as hdrhistogram-go writes them.
  const theirs = "HISTFAAAADB42pJpmSzMwMDAyQABzFDqBQMDs5vBjgUM9h8gIsVMDz2ZupsZmQABAAD//53YB/A=";
  expect(content(latencies.encode())).toBe(content(theirs));
  expect(Buffer.from(latencies.encode(), "base64").readUInt32BE()).toBe(0x1c849314);
  const [hour, more] = [new Latencies(), new Latencies()];
  hour.record(MOST);
  more.record(2 * MOST);
  expect(more.encode()).toBe(hour.encode());
});

test("a request names a file of the folder and nothing else", () => {
  expect(fileName(new URL("https://server/a/b"))).toBe("b");
  expect(parseRequestLine("GET /a\r\n")).toBe("/a");
  for (const request of ["", "GET a\r\n", "POST /a\r\n"]) {
    expect(parseRequestLine(request)).toBeUndefined();
  }
  expect(fileOf("/www", "/a/b%20c")).toBe("/www/a/b c");
  for (const path of ["/", "/../a", "/%2e%2e/a", "/a//b", "/%zz"]) {
    expect(fileOf("/www", path)).toBeUndefined();
  }
});
