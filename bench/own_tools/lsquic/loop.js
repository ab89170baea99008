// The plainest server and client over LSQUIC as Bun has it: the server sends as many zeros as the client asks for, on one stream.
//
//     bun loop.js server 127.0.0.1:4433 CERTIFICATE KEY
//     bun loop.js client 127.0.0.1:4433 CERTIFICATE BYTES
//
// Windows are those of the endpoint, 16 MiB a stream; congestion control is BBR. The client prints bytes and seconds, from its request to
// the end of the response, as JSON.
import { createPrivateKey } from "node:crypto";
import { readFileSync } from "node:fs";
import { connect, listen } from "node:quic";

const ZEROS = new Uint8Array(64 * 1024);
const WINDOW = 16 * 1024 * 1024;
const OPTIONS = {
  cc: "bbr",
  maxStreamWindow: WINDOW,
  maxWindow: 2 * WINDOW,
  transportParams: {
    initialMaxStreamDataBidiLocal: WINDOW,
    initialMaxStreamDataBidiRemote: WINDOW,
    initialMaxData: 2 * WINDOW,
    initialMaxStreamsBidi: 1,
  },
  onerror() {},
};

const [role, address, certificate, last] = process.argv.slice(2);
if (role === "server") {
  const identity = { keys: [createPrivateKey(readFileSync(last))], certs: [readFileSync(certificate)] };
  await listen(() => {}, { ...OPTIONS, endpoint: { address }, alpn: "loop", sni: { "*": identity }, onstream: answer });
  console.error("listening");
} else {
  await ask(Number(last));
  process.exit(0);
}

async function answer(stream) {
  stream.closed.catch(() => {});
  const request = [];
  for await (const batch of stream) {
    request.push(...[batch].flat());
  }
  stream.setBody(zeros(Number(Buffer.concat(request).readBigUInt64BE())));
}

async function* zeros(left) {
  for (; left > ZEROS.length; left -= ZEROS.length) {
    yield ZEROS;
  }
  yield ZEROS.subarray(0, left);
}

async function ask(bytes) {
  const session = await connect(address, {
    ...OPTIONS,
    endpoint: { address: "127.0.0.1:0" },
    alpn: "loop",
    servername: "localhost",
    ca: [readFileSync(certificate)],
    verifyPeer: "strict",
  });
  session.closed.catch(() => {});
  await session.opened;
  const request = Buffer.alloc(8);
  request.writeBigUInt64BE(BigInt(bytes));
  const began = performance.now();
  const stream = await session.createBidirectionalStream({ body: request });
  stream.closed.catch(() => {});
  let received = 0;
  for await (const batch of stream) {
    for (const chunk of [batch].flat()) {
      received += chunk.length;
    }
  }
  const seconds = (performance.now() - began) / 1000;
  if (received !== bytes) {
    throw new Error(`received ${received} of ${bytes} bytes`);
  }
  console.log(JSON.stringify({ bytes: received, seconds }));
}
