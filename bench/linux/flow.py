#!/usr/bin/env python3
"""What one flow of the kernel's TCP did in a record of the virtual testbed, in the simulator's terms.

    python3 bench/linux/flow.py results/oracles/vm/linux/*/

Prints a line of JSON for each record. Times are since the first of two full segments in a row, with which the response begins. Means are over whole
saw-teeth: from the first loss that was found after WARM_UP to the last one, and over an even number, since fast convergence makes CUBIC's alternate. A packet counts as
queued until a link would have sent it: the token bucket lets it go when a link would begin.
"""

import json
import struct
import sys
import tomllib
from pathlib import Path

WARM_UP = 5.0  # s: slow start, and the recovery behind it, are over
EPOCH = 0.2  # s: retransmissions with less than so much between them belong to one loss event
SEGMENT, FRAME = 1448, 1514  # bytes: payload with timestamps, and its frame
PORT = 443
BEFORE, BEHIND = 0, 1  # interfaces of wire.pcapng: the sender's tap, and the one behind the bottleneck


def packets(path):
    """Interface, nanoseconds and bytes of each packet of a little-endian pcapng."""
    data = path.read_bytes()
    place = 0
    while place + 12 <= len(data):
        kind, length = struct.unpack_from("<II", data, place)
        if kind == 6:  # Enhanced Packet Block
            interface, high, low, captured = struct.unpack_from("<IIII", data, place + 8)
            yield interface, high << 32 | low, data[place + 28 : place + 28 + captured]
        place += length


class Segment:
    """A TCP segment over Ethernet and IPv4."""

    def __init__(self, time, frame):
        total, identification = struct.unpack_from(">HH", frame, 16)
        tcp = 14 + 4 * (frame[14] & 15)
        self.time = time
        self.source, _, self.sequence, self.acknowledgment = struct.unpack_from(">HHII", frame, tcp)
        header = 4 * (frame[tcp + 12] >> 4)
        self.length = total - (tcp - 14) - header
        self.key = identification, self.sequence
        self.frame_length = 14 + total
        # Selective acknowledgments: what is above the cumulative one.
        self.selective = []
        place = tcp + 20
        while place < tcp + header and frame[place] != 0:
            if frame[place] == 1:
                place += 1
                continue
            if frame[place] == 5:
                edges = struct.unpack_from(f">{(frame[place + 1] - 2) // 4}I", frame, place + 2)
                self.selective += zip(edges[::2], edges[1::2])
            place += frame[place + 1]


def measure(record, bits_per_second):
    sent, acknowledgments, passed = [], [], []
    for interface, time, frame in packets(record / "wire.pcapng"):
        if frame[12:14] != b"\x08\x00" or frame[23] != 6:
            continue
        segment = Segment(time, frame)
        if segment.source != PORT and interface == BEFORE:
            acknowledgments.append(segment)
        elif segment.source == PORT:
            (sent if interface == BEFORE else passed).append(segment)
    data = [segment for segment in sent if segment.length > 0]
    start = next(a.time for a, b in zip(data, data[1:]) if a.length == b.length == SEGMENT)
    seconds = lambda time: (time - start) / 1e9

    # What the queue dropped: order is kept, so that one which is not the next behind it is lost.
    drops, waits, place = [], [], 0
    for segment in sent:
        if place < len(passed) and passed[place].key == segment.key:
            waits.append((segment.time, passed[place].time + segment.frame_length * 8e9 / bits_per_second))
            place += 1
        else:
            drops.append(segment.time)
    assert place == len(passed), "every packet behind the bottleneck was seen before it"

    # Retransmissions, and what was in flight when the first was sent.
    highest, una, retransmissions, first_window = 0, 0, [], None
    events = sorted([(s.time, 1, s) for s in data] + [(s.time, 0, s) for s in acknowledgments], key=lambda e: e[:2])
    flights = []
    for time, is_sent, segment in events:
        if not is_sent:
            una = max(una, segment.acknowledgment)
            continue
        if segment.sequence < highest:
            retransmissions.append(time)
            if first_window is None:
                first_window = (highest - una) / SEGMENT
        highest = max(highest, segment.sequence + segment.length)
        flights.append((seconds(time), (highest - una) / SEGMENT))
    losses = [t for t, before in zip(retransmissions, [0] + retransmissions) if t - before > EPOCH * 1e9]
    result = {
        "first_drop_s": seconds(drops[0]) if drops else None,
        "first_loss_s": seconds(losses[0]) if losses else None,
        "first_loss_window_segments": first_window,
        "drops_packets": len(drops),
        "retransmitted_packets": len(retransmissions),
        "loss_events": len(losses),
        "acknowledgments_for_each_segment": len(acknowledgments) / len(data),
    }
    steady = [t for t in losses if seconds(t) >= WARM_UP]
    steady = steady[1 - len(steady) % 2 :]
    if len(steady) < 2:
        return result | {"losses_s": [round(seconds(t), 3) for t in losses]}
    begin, end = steady[0], steady[-1]
    span = end - begin
    waited = sum(max(0, min(b, end) - max(a, begin)) for a, b in waits)
    seen, delivered = set(), 0
    for segment in passed:
        if segment.length > 0 and segment.sequence not in seen:
            seen.add(segment.sequence)
            delivered += segment.frame_length if begin < segment.time <= end else 0
    return result | {
        "measured_s": [round(seconds(begin), 3), round(seconds(end), 3)],
        "between_losses_s": span / 1e9 / (len(steady) - 1),
        "goodput_bps": delivered * 8e9 / span,
        "queue_mean_packets": waited / span,
        "drops_for_each_loss": sum(begin < t <= end for t in drops) / (len(steady) - 1),
        "losses_s": [round(seconds(t), 3) for t in losses],
        "largest_flight_between_losses": [
            round(max((f for t, f in flights if seconds(a) - 0.5 < t <= seconds(a)), default=0), 1) for a in losses
        ],
    }


for name in sys.argv[1:]:
    record = Path(name)
    settings = tomllib.loads((record / "run.toml").read_text())["run"]["settings"]
    told = {
        "congestion_control": settings["stack"]["congestion_control"],
        "hystart": settings["stack"].get("hystart"),
        "queue_limit_packets": settings["path"]["queue_limit_packets"],
    }
    rate, unit = settings["path"]["rate"].split()
    assert unit == "Mbit/s", unit
    print(json.dumps(told | measure(record, float(rate) * 1e6)))
