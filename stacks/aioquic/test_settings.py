#!/usr/bin/env python3
"""What the environment is read as. Needs no aioquic: `python3 test_settings.py`."""

import unittest

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
            parse(TESTCASE=test_case, REQUESTS="https://server/a https://server/b")

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


if __name__ == "__main__":
    unittest.main()
