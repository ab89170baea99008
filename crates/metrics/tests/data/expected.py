#!/usr/bin/env python3
"""Prints what the metrics of the captures beside it must be, computed from the definitions with nothing but Python.

    python3 expected.py > expected.json

A second opinion: it shares no code, no language and no library with what it checks.
"""

import gzip
import json
import pathlib
import struct

THRESHOLD_NS = 100_000
RESPONSE_BITS = 8 * 100 * 1024 * 1024


def times_ns(path):
    data = gzip.decompress(path.read_bytes())
    assert data[:4] == bytes.fromhex("4d3cb2a1"), "little-endian pcap with nanoseconds"
    position = 24
    while position < len(data):
        seconds, nanoseconds, kept, _ = struct.unpack_from("<IIII", data, position)
        source_port = struct.unpack_from(">H", data, position + 16 + 34)[0]
        assert source_port == 4433, "packets from the server alone"
        yield seconds * 1_000_000_000 + nanoseconds
        position += 16 + kept


def trains(gaps):
    length = 1
    for gap in gaps:
        if gap >= THRESHOLD_NS:
            yield length
            length = 0
        length += 1
    yield length


def expected(path):
    times = list(times_ns(path))
    gaps = [later - earlier for earlier, later in zip(times, times[1:])]
    lengths = list(trains(gaps))
    short = [length for length in lengths if length <= 5]
    ascending = sorted(gaps)
    middle = (ascending[(len(gaps) - 1) // 2] + ascending[len(gaps) // 2]) // 2
    return {
        "packets_sent": len(times),
        "duration_ns": times[-1] - times[0],
        "gap_median_ns": middle,
        "gap_share_below_100us": sum(gap < THRESHOLD_NS for gap in gaps) / len(gaps),
        "train_share_of_packets_1": lengths.count(1) / len(times),
        "train_share_of_packets_le_5": sum(short) / len(times),
        "train_share_of_trains_le_5": len(short) / len(lengths),
        "train_max_packets": max(lengths),
        "goodput_wire_bps": RESPONSE_BITS * 1e9 / (times[-1] - times[0]),
    }


if __name__ == "__main__":
    folder = pathlib.Path(__file__).parent
    print(json.dumps({path.name: expected(path) for path in sorted(folder.glob("*.pcap.gz"))}, indent=2))
