// HTTP/3 or HTTP/0.9 over LSQUIC, as it is built into Bun (node:quic), as a quiclab endpoint: server or client, by ROLE.
//
// Read settings.js first (what is honoured, what is refused), then server.js and client.js, and perf.js for the test case without files.
// Exit status: 0 done, 1 failed, 127 asked for something that this endpoint cannot do.
import { NotSupported, parseSettings } from "./settings.js";

const FAILED = 1;
const NOT_SUPPORTED = 127;

try {
  const settings = parseSettings(process.env);
  // As it is given to Bun, which does not tell what is in force.
  console.error(`congestion control: ${settings.congestionControl}`);
  if (settings.role === "server") {
    const { serve } = await import("./server.js");
    const { report } = await import("./perf.js");
    report(settings);
    await serve(settings);
  } else {
    const { fetchAll } = await import("./client.js");
    const { report } = await import("./perf.js");
    const end = report(settings);
    try {
      await fetchAll(settings);
    } finally {
      end();
    }
    process.exit(0);
  }
} catch (error) {
  console.error(error.message);
  process.exit(error instanceof NotSupported ? NOT_SUPPORTED : FAILED);
}
