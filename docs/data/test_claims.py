#!/usr/bin/env python3
"""Tests of claims.py on a small tree: a verdict comes from a report of today's expectation, or there is none."""

import json
import pathlib
import tempfile
import unittest

import claims
from stored import Fault, read

EXPECTATION = """
[[expect]]
claim = "quinn drops less than noq"
source = "section 4, figure 1"
metric = "drops_packets"
runs = { "stack.name" = "quinn" }
compared_with = { "stack.name" = "noq" }
below = 0.5
"""
OURS = """
[[expect]]
claim = "each first byte comes within 20 ms"
source = "beyond the study"
metric = "handshake_client_first_byte_ns"
below = 20e6
"""


def finding(**changed):
    usual = {"claim": "quinn drops less than noq", "metric": "drops_packets", "bound": "below", "number": 0.5, "outcome": "holds"}
    sides = {"of": {"mean": 12.0, "count": 3}, "with": {"mean": 123.456, "count": 3}}
    return usual | sides | {"interval": {"low": -60.0, "high": -40.0, "level": 0.95}, "judged_by": "interval"} | changed


def columns_without_rows():
    """The tables of the repository, without what is in them."""
    tables = read(pathlib.Path(__file__).with_name("claims.json"))["tables"]
    return {name: {"columns": table["columns"], "rows": []} for name, table in tables.items() if "view" not in table}


class Claims(unittest.TestCase):
    """A tree with one file of each study, and no results yet."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for study in claims.STUDIES:
            self.write(f"experiments/{study}/fig1.toml", EXPECTATION)
        self.write("docs/data/claims.json", json.dumps({"versions": {}, "tables": columns_without_rows()}))
        self.take(finding())

    def write(self, path, text):
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def report(self, folder, findings, command="quiclab run FILE --profile quick", experiment="reacked/fig1"):
        groups = [{"runs": [{"record": "none", "versions": {"qemu": "QEMU emulator version 7.2.22", "testbed": "vm"}}]}]
        whole = {"schema": 1, "experiment": experiment, "command": command, "groups": groups, "expectations": findings}
        self.write(f"{folder}/report.json", json.dumps(whole))

    def take(self, *findings):
        self.report("out/fig1", findings)
        claims.take_claims(self.root, [self.root / "out"])

    def stored(self):
        return json.loads((self.root / "docs/data/claims.json").read_text(encoding="utf-8"))

    def row(self, study="reacked"):
        return claims.rows_of(self.stored()["tables"][study])[0]

    def cells(self, *names, study="reacked"):
        return [self.row(study)[name] for name in names]

    def counted(self):
        return claims.summary(self.stored()["tables"])[1][:7]

    def faults(self):
        return "\n".join(claims.faults_of_claims(self.root, self.stored()))

    def test_a_verdict_has_its_numbers_and_the_others_are_not_run(self):
        self.assertEqual(self.cells("place", "claim", "verdict"), ["section 4, figure 1", "quinn drops less than noq", "holds"])
        self.assertEqual(self.cells("measured", "expected", "unit"), [12, ["below {} × {}", 0.5, 123.5], "packets"])
        self.assertEqual(self.cells("interval", "runs", "file", "profile"), [[-60, -40], 3, "`fig1`", "quick"])
        self.assertEqual(self.cells("verdict", "measured", "date", study="quic-steps"), ["not run", None, None])
        self.assertEqual(self.counted(), ["reacked", 1, 0, 1, 0, 0, 0])
        self.assertEqual(self.stored()["versions"], {"vm": {"qemu": "7.2.22", "testbed": "vm"}})
        self.assertEqual(self.faults(), "")

    def test_a_row_stays_until_its_file_is_taken_again(self):
        before = self.row()
        self.report("more/fig1", [finding(outcome="fails")], experiment="throughput/fig1")
        claims.take_claims(self.root, [self.root / "more"])
        self.assertEqual(self.row(), before)
        self.assertEqual(self.cells("verdict", study="throughput"), ["**fails**"])

    def test_an_expectation_that_changes_loses_its_verdict(self):
        self.write("experiments/reacked/fig1.toml", EXPECTATION.replace("0.5", "0.6"))
        self.assertIn("another state", self.faults())
        with self.assertRaisesRegex(Fault, "was judged as .*0.5.*, expected .*0.6"):
            self.take(finding())
        claims.take_claims(self.root, [])
        self.assertEqual(self.cells("verdict", "measured", "date"), ["not run", None, None])
        self.assertEqual(self.faults(), "")

    def test_a_verdict_without_an_expectation_is_found(self):
        self.write("experiments/reacked/fig1.toml", OURS)
        self.assertIn("found a verdict without an expectation: 'quinn drops less than noq' of fig1", self.faults())
        self.assertIn("found no row of experiments/reacked/fig1.toml: 'each first byte", self.faults())

    def test_a_source_is_required_and_a_claim_stands_once(self):
        self.write("experiments/reacked/fig1.toml", EXPECTATION.replace("source", "#"))
        with self.assertRaisesRegex(Fault, "found no source"):
            claims.take_claims(self.root, [])
        self.write("experiments/reacked/fig1.toml", EXPECTATION + EXPECTATION)
        with self.assertRaisesRegex(Fault, "twice"):
            claims.take_claims(self.root, [])

    def test_of_several_groups_the_worst_decides_and_the_range_is_shown(self):
        self.write("experiments/reacked/fig1.toml", OURS)
        own = {"claim": "each first byte comes within 20 ms", "metric": "handshake_client_first_byte_ns", "number": 20e6, "with": None}
        slow = finding(**own, outcome="fails", of={"mean": 25e6, "count": 3})
        self.take(finding(**own), slow, finding(**own, of={"mean": 15.5e6, "count": 3}))
        self.assertEqual(self.cells("verdict", "measured"), ["**fails** (1 of 3)", ["{} to {}", 0.000012, 25]])
        self.assertEqual(self.cells("expected", "unit", "interval", "runs"), [["below {}", 20], "ms", "several", ["3 × {}", 3]])
        self.assertEqual(self.counted(), ["reacked", 1, 1, 0, 1, 0, 0])

    def test_a_share_of_packets_is_not_counted_in_packets(self):
        self.assertEqual([claims.values_of([finding(metric=metric)])["unit"] for metric in ("burst_share_of_packets", "drops_packets")], ["", "packets"])

    def test_verdicts_are_counted_by_file(self):
        rows = [("`fig1`", "holds"), ("`fig1`", "holds"), ("`fig1`", "**fails** (1 of 2)"), ("`fig2`", "undecided"), ("`fig2`", "not run")]
        self.assertEqual(claims.verdicts(rows, ["fig1"], "here"), "2 hold, 1 fails")
        self.assertEqual(claims.verdicts(rows, ["fig1", "fig2"], "here"), "2 hold, 1 fails, 1 undecided, 1 not run")
        with self.assertRaisesRegex(Fault, "here: found no claim of 'fig3'"):
            claims.verdicts(rows, ["fig1", "fig3"], "here")

    def test_what_was_not_measured_has_no_numbers(self):
        nothing = {"of": None, "with": None, "interval": None, "judged_by": None}
        self.take(finding(outcome={"not_measured": "no qlog"}, **nothing))
        self.assertEqual(self.cells("verdict", "measured", "expected"), ["**not measured**", None, None])
        self.assertEqual(self.counted(), ["reacked", 1, 0, 0, 0, 0, 1])

    def test_differences_and_single_runs_are_shown_as_such(self):
        self.take(finding(compared_as="difference", interval=None, judged_by="one_run"))
        self.assertEqual(self.cells("expected", "interval", "runs"), [["below {} + {}", 123.5, 0.5], "one run", 3])

    def test_a_model_beside_the_usual_one_has_columns_of_its_own(self):
        command = "quiclab run FILE --profile quick --set flows.recovery=reno"
        self.report("reno/fig1", [finding(outcome="undecided")], command, "tcp-pacing/fig1")
        claims.take_claims(self.root, [self.root / "reno"])
        self.assertEqual(self.cells("verdict", "measured", study="tcp-pacing"), ["not run", None])
        self.assertEqual(self.cells("reno verdict", "reno measured", study="tcp-pacing"), ["undecided", 12])
        # Claims of ours are not judged with it.
        self.write("experiments/tcp-pacing/fig1.toml", OURS)
        claims.take_claims(self.root, [])
        self.assertEqual(self.cells("verdict", "reno verdict", study="tcp-pacing"), ["not run", None])

    def test_only_a_verdict_that_is_reversed_is_a_difference(self):
        compared = lambda: list(claims.reversed_verdicts(self.root, [self.root / "now"]))
        for outcome, differs in (("holds", False), ("undecided", False), ("fails", True)):
            self.report("now/fig1", [finding(outcome=outcome)])
            self.assertEqual(bool(compared()), differs, outcome)
        self.assertIn("reacked/fig1: 'quinn drops less than noq': found 'fails', expected 'holds'", compared()[0])
        self.report("now/fig1", [finding(outcome="fails")], command="quiclab run FILE")
        self.assertEqual(compared(), [], "another profile")

    def test_two_reports_of_one_file_are_an_error(self):
        self.report("out/again", [finding()], "quiclab run FILE")
        with self.assertRaisesRegex(Fault, "found two reports"):
            claims.take_claims(self.root, [self.root / "out"])

    def test_a_folder_without_reports_is_an_error(self):
        with self.assertRaisesRegex(Fault, "found no report.json"):
            claims.take_claims(self.root, [self.root / "nothing"])


class Seeds(unittest.TestCase):
    """How many runs decide a claim, against values that were computed by hand."""

    def needed(self, interval, runs, **expectation):
        return claims.seeds_needed({"interval": interval, "runs": runs}, {"metric": "drops_packets"} | expectation)

    def test_the_spread_and_the_distance_from_the_bound_decide(self):
        # Three runs of a mean of 10 with a deviation of 1: 4.303 / sqrt(3) = 2.484. Four are within 1.591 of it, and five within 1.24.
        interval = [10 - 2.484, 10 + 2.484]
        self.assertEqual([self.needed(interval, 3, above=10 - margin) for margin in (2.6, 1.6, 1.3, 9)], [3, 4, 5, 2])

    def test_a_bound_at_the_mean_is_never_decided(self):
        self.assertEqual(self.needed([9, 11], 3, at_most=10), 101)

    def test_equal_values_and_single_runs_have_no_spread(self):
        self.assertEqual([self.needed([0, 0], 3, at_most=0), self.needed("one run", 1, at_most=0)], [2, None])

    def test_a_ratio_is_compared_with_zero_and_a_difference_with_its_bound(self):
        sides = {"compared_with": {}, "below": 5}
        self.assertEqual([self.needed([4, 6], 3, **sides), self.needed([4, 6], 3, **sides, **{"as": "difference"})], [2, 101])


if __name__ == "__main__":
    unittest.main()
