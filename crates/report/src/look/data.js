"use strict";
// Reads the transfers out of the page: data.rs says how they are written.

const IS_SERVER = 1;
const IS_LOST = 2;
const IS_DROPPED = 4;
const IS_RETRANSMISSION = 8;

async function inflated(base64) {
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let place = 0; place < binary.length; place += 1) bytes[place] = binary.charCodeAt(place);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** One column as numbers. Values beyond 2^53 lose their last bits, which no screen shows. */
function column(bytes, start, count, isAscending) {
  const values = new Float64Array(count);
  let at = start;
  let before = 0;
  for (let place = 0; place < count; place += 1) {
    let byte = bytes[at++];
    let value = byte & 0x7f;
    for (let factor = 128; byte >= 0x80; factor *= 128) {
      byte = bytes[at++];
      value += (byte & 0x7f) * factor;
    }
    if (isAscending) before = value += before;
    values[place] = value;
  }
  return values;
}

async function readTransfer(element) {
  const text = element.textContent;
  const end = text.indexOf("\n");
  const head = JSON.parse(text.slice(0, end));
  const bytes = await inflated(text.slice(end + 1).trim());
  element.remove();
  const transfer = { name: head.name, count: head.packets, trainNs: head.trainNs };
  let at = 0;
  for (const { name, ascending, bytes: length } of head.columns) {
    transfer[name] = column(bytes, at, head.packets, ascending);
    at += length;
  }
  const offsets = new Uint32Array(head.packets + 1);
  for (let place = 0; place < head.packets; place += 1) offsets[place + 1] = offsets[place] + transfer.words[place];
  const words = bytes.subarray(at);
  const decoder = new TextDecoder();
  transfer.content = (place) => decoder.decode(words.subarray(offsets[place], offsets[place + 1]));
  derive(transfer);
  transfer.series = seriesOf(transfer, head);
  return transfer;
}

/** What follows from the columns: the height of each packet, its train, and the smallest time between the taps. */
function derive(transfer) {
  const { count, time, flags, number, crossed, trainNs } = transfer;
  transfer.train = new Uint16Array(count);
  transfer.height = new Float64Array(count);
  transfer.hasNumbers = false;
  transfer.smallestCrossing = Infinity;
  transfer.begin = count ? time[0] : 0;
  transfer.end = count ? time[count - 1] : 1;
  for (let place = 0; place < count; place += 1) {
    if (flags[place] & IS_SERVER && number[place]) transfer.hasNumbers = true;
    if (crossed[place] && crossed[place] < transfer.smallestCrossing) transfer.smallestCrossing = crossed[place];
  }
  let members = [];
  let ordinal = 0;
  let level = 0;
  const close = () => {
    for (const place of members) transfer.train[place] = Math.min(members.length, 65535);
  };
  for (let place = 0; place < count; place += 1) {
    if (!(flags[place] & IS_SERVER)) continue;
    ordinal += 1;
    // Packets of the handshake have numbers of their own: they are drawn where the others are at that time.
    if (number[place]) level = number[place] - 1;
    transfer.height[place] = transfer.hasNumbers ? level : ordinal;
    if (members.length && time[place] - time[members[members.length - 1]] >= trainNs) {
      close();
      members = [];
    }
    members.push(place);
  }
  close();
}

/** The place of a train's length in the classes. The last one has no longest train. */
const trainClass = (length) => TRAIN_CLASSES.findIndex(([longest]) => longest === 0 || length <= longest);
/** By the length, for the loop over all packets. */
const CLASS_OF_LENGTH = Uint8Array.from({ length: 64 }, (_, length) => trainClass(length));

/** Times and values of the packets of one side for which a column is not 0. Loops like this one are called once for each column: a
 * function for each packet would make loading noticeably slower. */
function pick({ count, time, flags }, side, values, less, factor) {
  const times = new Float64Array(count);
  const picked = new Float64Array(count);
  let length = 0;
  for (let place = 0; place < count; place += 1) {
    if (values[place] === 0 || (flags[place] & IS_SERVER) !== side) continue;
    times[length] = time[place];
    picked[length] = (values[place] - less) * factor;
    length += 1;
  }
  return [times.slice(0, length), picked.slice(0, length)];
}

/** The server's packets as points, by `kinds[place]`; 255 is none. */
function points({ count, time, flags, height }, kinds, most) {
  const lengths = new Uint32Array(256);
  for (let place = 0; place < count; place += 1) if (flags[place] & IS_SERVER) lengths[kinds[place]] += 1;
  const all = Array.from({ length: most }, (_, kind) => new Series(new Float64Array(lengths[kind]), new Float64Array(lengths[kind])));
  lengths.fill(0);
  for (let place = 0; place < count; place += 1) {
    const kind = kinds[place];
    if (!(flags[place] & IS_SERVER) || kind >= most) continue;
    all[kind].times[lengths[kind]] = time[place];
    all[kind].values[lengths[kind]] = height[place];
    lengths[kind] += 1;
  }
  return all;
}

/** 0: lost or dropped, 1: sent again and not lost. */
const markOf = (flags) => (flags & (IS_LOST | IS_DROPPED) ? 0 : flags & IS_RETRANSMISSION ? 1 : 255);

/** What is drawn. Columns that may be unknown hold one more than the value, or 0. */
function seriesOf(transfer, head) {
  const series = (side, values, less, factor) => new Series(...pick(transfer, side, values, less, factor));
  const curve = (all, factor) => all && all.length
    && new Series(Float64Array.from(all, (it) => it[0]), Float64Array.from(all, (it) => it[1] * factor));
  const [lost, again] = points(transfer, transfer.flags.map(markOf), 2);
  const none = new Float64Array(0);
  const goodput = goodputOf(transfer);
  return {
    packets: points(transfer, transfer.train.map((length) => CLASS_OF_LENGTH[Math.min(length, 63)]), TRAIN_CLASSES.length),
    lost,
    again,
    acked: transfer.hasNumbers ? series(0, transfer.largest, 1, 1) : new Series(none, none),
    flight: series(1, transfer.flight, 1, 1e-3),
    rtt: series(0, transfer.rtt, 1, 1e-6),
    queue: series(1, transfer.crossed, transfer.smallestCrossing, 1e-6),
    late: series(1, transfer.late, 1, 1e-6),
    window: curve(head.window, 1e-3),
    pacing: curve(head.pacing, 1e-6),
    sent: new Sums(...pick(transfer, 1, transfer.bytes, 0, 1)),
    goodput: new Sums(...goodput),
    hasGoodput: goodput[0].length > 0,
  };
}

/** New bytes, at the times at which they leave the bottleneck as far as those are known. */
function goodputOf({ count, time, flags, crossed, fresh }) {
  const times = new Float64Array(count);
  const values = new Float64Array(count);
  let length = 0;
  let isInOrder = true;
  for (let place = 0; place < count; place += 1) {
    if ((flags[place] & (IS_SERVER | IS_DROPPED)) !== IS_SERVER || fresh[place] === 0) continue;
    times[length] = time[place] + (crossed[place] ? crossed[place] - 1 : 0);
    values[length] = fresh[place];
    isInOrder &&= length === 0 || times[length - 1] <= times[length];
    length += 1;
  }
  if (isInOrder) return [times.slice(0, length), values.slice(0, length)];
  const order = Uint32Array.from({ length }, (_, place) => place).sort((one, other) => times[one] - times[other]);
  return [Float64Array.from(order, (place) => times[place]), Float64Array.from(order, (place) => values[place])];
}
