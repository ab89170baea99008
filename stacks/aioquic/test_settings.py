#!/usr/bin/env python3
"""What the environment is read as. Needs no aioquic: `python3 test_settings.py`."""

import unittest

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
