#!/usr/bin/env python3
"""What the environment is read as. Needs no aioquic: `python3 test_settings.py`. Skips one test without hdrhistogram."""

import base64
import importlib.util
import pathlib
import tempfile
import unittest

from endpoint.loads import LEAST, LOADS, MOST, REPEATING, Latencies, plan
from endpoint.moves import may_move
from endpoint.progress import Counters
from endpoint.settings import CHOICES, TEST_CASES, NotSupported, NotUnderstood, Settings


def parse(**changes):
    """Reads a plain client's environment with changes."""
    plain = {"ROLE": "client", "TESTCASE": "transfer", "REQUESTS": "https://server:4433/file10M"}
    return Settings.parse(plain | changes)


class Parsing(unittest.TestCase):
    def test_a_plain_transfer_has_the_documented_defaults(self):
        found = parse()
        self.assertEqual((found.congestion_control, found.http, found.ip, found.streams, found.port), ("reno", "h3", 4, None, 443))
        self.assertEqual((found.host, found.host_port, found.www, found.key_log, found.qlog), ("server", 4433, "/www", None, None))

    def test_every_declared_setting_is_honoured(self):
        for name, values in CHOICES.items():
            for value in values:
                parse(**{name: value})
        found = parse(QUICLAB_STREAMS="4", QUICLAB_CERT_DELAY="200", QUICLAB_PORT="4433", QUICLAB_IP="6")
        self.assertEqual((found.streams, found.certificate_delay, found.port, found.ip), (4, 0.2, 4433, 6))
        self.assertIsNone(parse(QUICLAB_STREAMS="all").streams)

    def test_every_declared_test_case_is_taken(self):
        for test_case in TEST_CASES:
            sizes = {"QUICLAB_PERF_REQUEST": "8", "QUICLAB_PERF_RESPONSE": "1"} if test_case == "perf" else {}
            parse(TESTCASE=test_case, REQUESTS="https://server/a https://server/b", **sizes)

    def test_what_it_cannot_do_is_refused_and_not_ignored(self):
        for changes in [
            {"TESTCASE": ""},
            {"TESTCASE": "nonsense"},
            {"TESTCASE": "multiconnect", "ROLE": "server"},
            {"TESTCASE": "connectionmigration", "ROLE": "server"},
            {"TESTCASE": "keyupdate", "ROLE": "server"},
            {"TESTCASE": "http3", "QUICLAB_HTTP": "hq"},
            {"QUICLAB_CCA": "bbr"},
            {"QUICLAB_CCA": "RENO"},
            {"QUICLAB_CCA": ""},
            {"QUICLAB_GSO": "on"},
            {"QUICLAB_PACING": "off"},
            {"QUICLAB_HTTP": "h2"},
            {"QUICLAB_IP": "46"},
            {"QUICLAB_NO_SUCH_SETTING": "1"},
            {"SERVER_PARAMS": "-x"},
        ]:
            with self.subTest(changes), self.assertRaises(NotSupported):
                parse(**changes)

    def test_what_it_cannot_read_is_a_failure(self):
        for changes in [
            {"ROLE": "observer"},
            {"REQUESTS": ""},
            {"REQUESTS": "http://server/file"},
            {"REQUESTS": "https://server:4433/"},
            {"REQUESTS": "https://server:70000/file"},
            {"REQUESTS": "https://server/.."},
            {"REQUESTS": "https://server/a https://other/b"},
            {"TESTCASE": "resumption"},
            {"QUICLAB_PORT": "65536"},
            {"QUICLAB_STREAMS": "0"},
            {"QUICLAB_CERT_DELAY": "-1"},
        ]:
            with self.subTest(changes), self.assertRaises(NotUnderstood):
                parse(**changes)

    def test_a_url_names_the_file_it_is_stored_as(self):
        found = parse(REQUESTS="https://server/a/b https://server:443/c")
        self.assertEqual([(request.path, request.stored) for request in found.requests], [("/a/b", "b"), ("/c", "c")])
        self.assertEqual(found.host_port, 443)


class Perf(unittest.TestCase):
    SIZES = {"TESTCASE": "perf", "QUICLAB_PERF_REQUEST": "9", "QUICLAB_PERF_RESPONSE": "0"}
    SERVER = {"TESTCASE": "perf", "ROLE": "server"}

    def test_sizes_belong_to_a_client_of_perf(self):
        found = parse(**self.SIZES)
        self.assertEqual((found.perf, found.perf_duration, found.perf_progress), ((9, 0), None, None))
        self.assertIsNone(parse(**self.SERVER).perf)
        for changes in [{"QUICLAB_PERF_REQUEST": "9"}, self.SERVER | {"QUICLAB_PERF_RESPONSE": "9"}]:
            with self.subTest(changes), self.assertRaises(NotSupported):
                parse(**changes)
        for changes in [{"QUICLAB_PERF_REQUEST": "7"}, {"QUICLAB_PERF_RESPONSE": ""}, {"QUICLAB_PERF_RESPONSE": "-1"}]:
            with self.subTest(changes), self.assertRaises(NotUnderstood):
                parse(**(self.SIZES | changes))

    def test_a_time_and_progress_belong_to_perf(self):
        found = parse(**self.SIZES, QUICLAB_PERF_DURATION="250", QUICLAB_PERF_PROGRESS="/p", QUICLAB_PERF_INTERVAL="50")
        self.assertEqual((found.perf_duration, found.perf_progress, found.perf_interval), (0.25, "/p", 0.05))
        self.assertEqual(parse(**self.SERVER, QUICLAB_PERF_PROGRESS="/p").perf_interval, 1)
        for changes in [{"QUICLAB_PERF_PROGRESS": "/p"}, {"QUICLAB_PERF_DURATION": "1"}, self.SERVER | {"QUICLAB_PERF_DURATION": "1"}]:
            with self.subTest(changes), self.assertRaises(NotSupported):
                parse(**changes)
        for changes in [{"QUICLAB_PERF_DURATION": "0"}, {"QUICLAB_PERF_INTERVAL": "50"}, {"QUICLAB_PERF_INTERVAL": "9", "QUICLAB_PERF_PROGRESS": "/p"}]:
            with self.subTest(changes), self.assertRaises(NotUnderstood):
                parse(**(self.SIZES | changes))


class Loads(unittest.TestCase):
    SIZES = Perf.SIZES
    TIME = {"QUICLAB_PERF_DURATION": "250"}

    def test_a_load_is_asked_for_by_its_name(self):
        found = parse(**self.SIZES)
        self.assertEqual((found.perf_load, found.perf_latencies), ("bulk", None))
        for load in LOADS:
            self.assertEqual(parse(**self.SIZES, **self.TIME, QUICLAB_PERF_LOAD=load).perf_load, load)
        for load in REPEATING:
            found = parse(**self.SIZES, **self.TIME, QUICLAB_PERF_LOAD=load, QUICLAB_PERF_LATENCIES="/l")
            self.assertEqual(found.perf_latencies, "/l")

    def test_what_does_not_go_together_is_refused(self):
        for changes in [
            self.SIZES | {"QUICLAB_PERF_LOAD": "floods"},
            {"QUICLAB_PERF_LOAD": "bulk"},
            {"QUICLAB_PERF_LATENCIES": "/l"},
            Perf.SERVER | {"QUICLAB_PERF_LOAD": "bulk"},
            Perf.SERVER | {"QUICLAB_PERF_LATENCIES": "/l"},
        ]:
            with self.subTest(changes), self.assertRaises(NotSupported):
                parse(**changes)
        for changes in [
            {"QUICLAB_PERF_LOAD": "requests"},
            {"QUICLAB_PERF_LOAD": "handshakes"},
            self.TIME | {"QUICLAB_PERF_LATENCIES": "/l"},
            self.TIME | {"QUICLAB_PERF_LATENCIES": "/l", "QUICLAB_PERF_LOAD": "bidirectional"},
        ]:
            with self.subTest(changes), self.assertRaises(NotUnderstood):
                parse(**self.SIZES, **changes)

    def test_a_load_says_what_each_stream_carries(self):
        self.assertEqual(plan("bulk", (100, 1000), 2), [(100, 1000), (100, 1000)])
        self.assertEqual(plan("requests", (100, 1000), 2), [(100, 1000), (100, 1000)])
        self.assertEqual(plan("bidirectional", (100, 1000), 2), [(100, 0), (8, 1000), (100, 0), (8, 1000)])
        self.assertEqual(plan("handshakes", (100, 1000), 2), [(8, 0)])

    @unittest.skipUnless(importlib.util.find_spec("hdrh"), "hdrhistogram is not installed")
    def test_latencies_are_what_others_read(self):
        from hdrh.histogram import HdrHistogram

        latencies = Latencies()
        latencies.since(0)
        latencies.keep()
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "latencies")
            latencies.write(path)
            self.assertEqual(HdrHistogram.decode(path.read_text().strip()).get_total_count(), 0)
            for nanoseconds in (30_000, 7_000_000, 2 * MOST):
                latencies.record(nanoseconds)
            latencies.write(path)
            text = path.read_text()
        self.assertEqual((text.count("\n"), text[-1], base64.b64decode(text)[:4].hex()), (1, "\n", "1c849314"))
        found = HdrHistogram.decode(text.strip())
        self.assertEqual((found.get_total_count(), found.lowest_trackable_value, found.highest_trackable_value), (3, LEAST, MOST))
        self.assertLess(abs(found.get_value_at_percentile(50) / 7e6 - 1), 1e-3)
        self.assertLess(abs(found.get_max_value() / MOST - 1), 1e-3)


class Moves(unittest.TestCase):
    def test_a_client_moves_only_where_the_server_lets_it(self):
        self.assertTrue(may_move(False, False, 1))
        for forbidden, spare, expected in [(True, 1, "disable_active_migration"), (False, 0, "no spare connection ID")]:
            with self.subTest(expected), self.assertRaisesRegex(NotSupported, expected):
                may_move(forbidden, False, spare)

    def test_a_preferred_address_is_a_move_already(self):
        self.assertTrue(may_move(True, True, 1))
        self.assertFalse(may_move(True, True, 0))


class Lines(unittest.TestCase):
    def test_a_line_has_null_for_what_nobody_knows_yet(self):
        counters = Counters()
        counters.sent, counters.received = 5, 7
        unknown = '"rtt_ns":null,"window":null,"lost":null}\n'
        self.assertEqual(counters.line(9), '{"monotonic_ns":9,"sent":5,"received":7,"exchanges":0,"connections":0,' + unknown)
        counters.path = lambda: (0.0015, 64000, 2)
        self.assertTrue(counters.line(9).endswith('"rtt_ns":1500000,"window":64000,"lost":2}\n'))


if __name__ == "__main__":
    unittest.main()
