#!/usr/bin/env python3
"""Makes routers.mrt, a dump as several peers of a route collector give it, and routers.txt, which says what mrtparse 2.2.0 (PyPI)
reads of it: each prefix with its origins, those that most peers have first, and by how many peers. Both are in the repository, so
that the test needs neither Python nor this.

    pip install mrtparse==2.2.0 && ./routers.py
"""

import collections
import ipaddress
import random
import struct
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
PEERS = 6
TABLE_DUMP_V2 = 13
# RFC 6396 section 4.3.2 and RFC 8050 section 4: the subtypes of IPv4 and IPv6, without and with additional paths.
SUBTYPES = {(4, False): 2, (6, False): 4, (4, True): 8, (6, True): 10}


def record(subtype, message):
    return struct.pack("!IHHI", 1_764_000_000, TABLE_DUMP_V2, subtype, len(message)) + message


def peer_index(draw):
    """Half of the peers have IPv6 addresses; each fourth has an AS number of two bytes in the table."""
    message = ipaddress.ip_address("198.51.100.1").packed + struct.pack("!H", 4) + b"view" + struct.pack("!H", PEERS)
    for number in range(PEERS):
        is_v6, is_long = number % 2 == 1, number % 4 != 3
        message += struct.pack("!B", is_v6 | is_long << 1) + draw.randbytes(4)
        message += ipaddress.ip_address(f"2001:db8::{number + 1}" if is_v6 else f"192.0.2.{number + 1}").packed
        message += struct.pack("!I" if is_long else "!H", 64_496 + number)
    return record(1, message)


def attribute(flags, kind, value):
    """RFC 4271 section 4.3: long values have a length of two bytes."""
    if len(value) > 255:
        return struct.pack("!BBH", flags | 0x10, kind, len(value)) + value
    return struct.pack("!BBB", flags, kind, len(value)) + value


def path(draw, peer, origin):
    """The peer's own AS, some more, and the origin, or a set of origins that were aggregated."""
    middle = [draw.choice([3356, 1299, 174, 200_000, 4_200_000_000]) for _ in range(draw.randrange(5))]
    sequence = [64_496 + peer, *middle]
    segments = [(2, sequence)]
    if draw.random() < 0.2:
        segments.append((1, sorted({origin, draw.randrange(1, 100_000)})))
    else:
        sequence.append(origin)
    return b"".join(struct.pack("!BB", kind, len(all)) + struct.pack(f"!{len(all)}I", *all) for kind, all in segments)


def attributes(draw, version, peer, origin):
    result = attribute(0x40, 1, bytes([draw.randrange(3)])) + attribute(0x40, 2, path(draw, peer, origin))
    if version == 4:
        result += attribute(0x40, 3, ipaddress.ip_address("192.0.2.1").packed)
    else:
        # RFC 6396 section 4.3.4: only the next hop of MP_REACH_NLRI.
        result += attribute(0x80, 14, b"\x10" + ipaddress.ip_address("2001:db8::1").packed)
    communities = b"".join(struct.pack("!HH", 3356, value) for value in range(draw.choice([0, 3, 80])))
    return result + (attribute(0xC0, 8, communities) if communities else b"")


def rib(draw, number, network, has_paths):
    origins = [draw.randrange(1, 70_000) for _ in range(draw.choice([1, 1, 2, 3]))]
    entries = []
    for peer in range(PEERS):
        # One peer with many paths must not count as many.
        for identifier in range(draw.randrange(1, 5) if has_paths else draw.randrange(2)):
            value = attributes(draw, network.version, peer, draw.choice(origins))
            entry = struct.pack("!HI", peer, 1_763_000_000) + (struct.pack("!I", identifier + 1) if has_paths else b"")
            entries.append(entry + struct.pack("!H", len(value)) + value)
    prefix = network.network_address.packed[: (network.prefixlen + 7) // 8]
    message = struct.pack("!IB", number, network.prefixlen) + prefix + struct.pack("!H", len(entries))
    return record(SUBTYPES[network.version, has_paths], message + b"".join(entries)) if entries else b""


def networks(draw):
    """Networks that do not hold one another."""
    for number in range(25):
        base = ipaddress.ip_network("11.0.0.0/8").network_address + (number << 16)
        yield ipaddress.ip_network((base, draw.choice([16, 17, 20, 24])))
        base = ipaddress.ip_network("2a00::/12").network_address + (number << 96)
        yield ipaddress.ip_network((base, draw.choice([32, 33, 40, 48])))


def read(file):
    """What mrtparse says: for each prefix, the peers of each origin."""
    from mrtparse import Reader

    peers = collections.defaultdict(lambda: collections.defaultdict(set))
    for entry in Reader(str(file)):
        data = entry.data
        if "prefix" not in data:
            continue
        for route in data["rib_entries"]:
            (as_path,) = [it["value"] for it in route["path_attributes"] if 2 in it["type"]]
            for origin in as_path[-1]["value"] if 1 in as_path[-1]["type"] else as_path[-1]["value"][-1:]:
                peers[f"{data['prefix']}/{data['length']}"][int(origin)].add(route["peer_index"])
    return peers


def main():
    draw = random.Random(1)
    dump = peer_index(draw)
    for number, network in enumerate(networks(draw)):
        dump += rib(draw, number, network, has_paths=number % 5 in (1, 2))
    (FOLDER / "routers.mrt").write_bytes(dump)
    lines = []
    for prefix, origins in read(FOLDER / "routers.mrt").items():
        ranked = sorted(origins, key=lambda origin: (-len(origins[origin]), origin))
        lines.append(f"{prefix} " + " ".join(f"{origin}:{len(origins[origin])}" for origin in ranked) + "\n")
    (FOLDER / "routers.txt").write_text("".join(lines))
    print(f"{len(dump)} bytes, {len(lines)} prefixes", file=sys.stderr)


if __name__ == "__main__":
    main()
