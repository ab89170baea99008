// How long exchanges or handshakes took, in memory that does not grow: an HdrHistogram of nanoseconds.
import { deflateSync, inflateSync } from "node:zlib";

import { build, encodeIntoCompressedBase64 } from "hdr-histogram-js";

/** Bounds of the histogram in nanoseconds: differences of less than the first are not kept, and more than an hour counts as an hour. */
export const LEAST = 1000;
export const MOST = 3_600_000_000_000;
/** Decimal digits of a value that are kept. */
export const DIGITS = 3;

/** Bytes before what is compressed: a cookie, and the length of what follows. */
const OUTER_HEAD = 8;
/** Places in the head of what is compressed. */
const NORMALIZING_INDEX_OFFSET = 8;
const CONVERSION_RATIO = 32;

export class Latencies {
  #histogram = build({
    lowestDiscernibleValue: LEAST,
    highestTrackableValue: MOST,
    numberOfSignificantValueDigits: DIGITS,
    bitBucketSize: 64,
    autoResize: false,
  });

  /** One took so many nanoseconds. */
  record(nanoseconds) {
    this.#histogram.recordValue(Math.min(nanoseconds, MOST));
  }

  /** All of them, as base64 of the compressed serialisation, version 2. */
  encode() {
    const written = Buffer.from(encodeIntoCompressedBase64(this.#histogram), "base64");
    const content = inflateSync(written.subarray(OUTER_HEAD, OUTER_HEAD + written.readUInt32BE(4)));
    // The library writes 1 as both, the second one as an integer. It does not read them; others refuse the first or scale by the second.
    content.writeUInt32BE(0, NORMALIZING_INDEX_OFFSET);
    content.writeDoubleBE(1, CONVERSION_RATIO);
    const compressed = deflateSync(content);
    const outerHead = Buffer.from(written.subarray(0, OUTER_HEAD));
    outerHead.writeUInt32BE(compressed.length, 4);
    return Buffer.concat([outerHead, compressed]).toString("base64");
  }
}
