// HTTP/3 or HTTP/0.9 over LSQUIC, as it is built into Bun (node:quic), as a quiclab endpoint: server or client, by ROLE.
//
// Read settings.js first (what is honoured, what is refused), then server.js and client.js, and perf.js and loads.js for the test case without
// files.
// Exit status: 0 done, 1 failed, 127 asked for something that this endpoint cannot do.
import { writeFileSync } from "node:fs";

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
    const { fetchAll, runPerf } = await import("./client.js");
    const { report } = await import("./perf.js");
    // Only where it is asked for: loading it takes time.
    const latencies = settings.perfLatencies === "" ? undefined : new (await import("./latencies.js")).Latencies();
    const end = report(settings);
    try {
      await (settings.perf ? runPerf(settings, latencies) : fetchAll(settings));
    } finally {
      end();
    }
    // Nothing ran since the last line of progress, so they count the same.
    if (latencies) {
      writeFileSync(settings.perfLatencies, `${latencies.encode()}\n`);
    }
    process.exit(0);
  }
} catch (error) {
  console.error(error.message);
  process.exit(error instanceof NotSupported ? NOT_SUPPORTED : FAILED);
}
