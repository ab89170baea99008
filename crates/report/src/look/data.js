"use strict";
// Reads the transfers out of the page: data.rs says how they are written.

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
  transfer.window = head.window;
  transfer.pacing = head.pacing;
  derive(transfer);
  return transfer;
}

/** What follows from the columns: the height of each packet, its train, and the smallest time between the taps. */
function derive(transfer) {
  const { count, time, flags, number, crossed, trainNs } = transfer;
  transfer.train = new Uint16Array(count);
  transfer.height = new Float64Array(count);
  transfer.hasNumbers = false;
  transfer.smallestCrossing = Infinity;
  transfer.end = count ? time[count - 1] : 1;
  for (let place = 0; place < count; place += 1) {
    if (flags[place] & 1 && number[place]) transfer.hasNumbers = true;
    if (crossed[place]) transfer.smallestCrossing = Math.min(transfer.smallestCrossing, crossed[place]);
  }
  let members = [];
  let ordinal = 0;
  const close = () => {
    for (const place of members) transfer.train[place] = Math.min(members.length, 65535);
  };
  for (let place = 0; place < count; place += 1) {
    if (!(flags[place] & 1)) continue;
    ordinal += 1;
    transfer.height[place] = transfer.hasNumbers ? number[place] - 1 : ordinal;
    if (members.length && time[place] - time[members[members.length - 1]] >= trainNs) {
      close();
      members = [];
    }
    members.push(place);
  }
  close();
}

/** The first place whose time is not before. */
function placeOf(times, wanted) {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}
