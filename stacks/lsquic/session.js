// What server and client give to LSQUIC in the same way.
import { appendFileSync } from "node:fs";

/** Names of the protocols in ALPN. */
const PROTOCOLS = { h3: "h3", hq: "hq-interop" };

/** Flow control windows in bytes, of a stream and of a connection: more than any transfer needs, so that they never limit one. */
const STREAM_WINDOW = 16 * 1024 * 1024;
const CONNECTION_WINDOW = 32 * 1024 * 1024;

/** The options of node:quic that a role's own ones are added to. */
export function sessionOptions(settings) {
  const options = {
    cc: settings.congestionControl,
    maxStreamWindow: STREAM_WINDOW,
    maxWindow: CONNECTION_WINDOW,
    transportParams: {
      initialMaxStreamDataBidiLocal: STREAM_WINDOW,
      initialMaxStreamDataBidiRemote: STREAM_WINDOW,
      initialMaxData: CONNECTION_WINDOW,
      initialMaxStreamsBidi: 100,
    },
  };
  if (settings.keyLog !== "") {
    options.keylog = true;
    options.onkeylog = (line) => appendFileSync(settings.keyLog, `${String(line).trimEnd()}\n`);
  }
  return options;
}

/** The protocol that a session negotiates. */
export function protocol(settings) {
  return settings.testCase === "perf" ? "perf" : PROTOCOLS[settings.http];
}

/** Address and port as node:quic reads them; the address of any interface where none is given. */
export function socketAddress(settings, address, port) {
  return settings.ip === 6 ? `[${address ?? "::"}]:${port}` : `${address ?? "0.0.0.0"}:${port}`;
}

/** The bodies of a stream, one array of bytes at a time. */
export async function* chunksOf(stream) {
  for await (const batch of stream) {
    yield* Array.isArray(batch) ? batch : [batch];
  }
}
