#!/usr/bin/env python3
"""Tests of generate.py on a small tree: what is pasted by hand is found, and what is stored is written."""

import contextlib
import io
import json
import pathlib
import re
import tempfile
import unittest

import generate
import stored

RESULT = """{"command": "quiclab run a.toml", "date": "2026-11-21", "versions": {"qemu": "7.2"}, "source": "a test", "tables": {
"all": {"columns": [{"title": "", "key": "name", "names": "stacks"}, {"title": "drops", "metric": "drops_packets", "form": "{} ± {}", "digits": 1},
    {"title": "change, %", "form": "{+}"}, {"title": "bytes", "thousands": " "}, {"title": "what", "key": "what", "align": "left"}],
  "rows": [["quinn", [12.25, 0.5], -0.50, 1234567, "Pairs, {drops_packets:.0f} dropped."], ["*published*", 16.50, 2, null, ""]]},
"means": {"view": "all", "columns": [{"key": "name"}, {"metric": "drops_packets", "title": "mean drops", "form": "{0}"}]}}}
"""
PAGE = """# Page

Made on <!-- value: demo.date --><!-- /value --> with <!-- value: counts.stacks --><!-- /value --> stacks and
in all <!-- value: demo.all.sum[change, %] --><!-- /value -->, of <!-- value: demo.all[quinn][drops_packets] --><!-- /value -->.

<!-- data: demo.all -->
<!-- end of data -->

Text.

<!-- data: demo.means -->
<!-- end of data -->

![Picture](images/one.png)

<!-- output: answer -->
<!-- end of output -->
"""
ALL = """\
| | drops | change, % | bytes | what |
|---|--:|--:|--:|---|
| quinn | 12.2 ± 0.5 | \u22120.50 | 1 234 567 | Pairs, 12 dropped. |
| *published* | 16.50 | +2 | \u2013 | |
"""
METRICS = "# Metrics\n\n| `drops_packets` | packets |\n"


class Tree(unittest.TestCase):
    """A tree in which everything fits."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write("docs/data/demo.json", RESULT)
        self.write("docs/results/page.md", PAGE)
        self.write("docs/reference/metrics.md", METRICS)
        self.write("docs/images/one.png", "a picture")
        self.write("stacks/quinn/stack.toml", 'transport = "quic"\nroles = ["server"]\n')
        self.run_script("--picture", "one.png", "--command", "a command", "--shows", "demo")
        self.write("printed", "first\n| a row of 3 |  \nlast\n")
        self.run_script("--output", "answer", str(self.root / "printed"), "--command", "a command", "--lines", "row|last")
        self.check()

    def write(self, path, text):
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def read(self, path):
        return (self.root / path).read_text(encoding="utf-8")

    def replace(self, old, new, path="docs/results/page.md"):
        text = self.read(path)
        self.assertIn(old, text)
        self.write(path, text.replace(old, new, 1))

    def run_script(self, *words):
        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            status = generate.main([*words, "--root", str(self.root)])
        return status, said.getvalue()

    def check(self, *expected):
        """With words the check must fail and say them; without it must succeed in silence."""
        status, said = self.run_script("--check")
        self.assertEqual((status, said == ""), (1, False) if expected else (0, True), said)
        for words in expected:
            self.assertIn(words, said)

    def test_a_table_and_a_view_are_written_in_the_forms_of_their_columns(self):
        page = self.read("docs/results/page.md")
        self.assertIn(ALL, page)
        self.assertIn("| | mean drops |\n|---|--:|\n| quinn | 12.2 |\n| *published* | 16.50 |\n", page)

    def test_values_in_sentences_are_written(self):
        page = self.read("docs/results/page.md")
        for text in (">2026-11-21<", "counts.stacks -->1<", "[change, %] -->1.50<", "[drops_packets] -->12.2<"):
            self.assertIn(text, page)

    def test_a_cell_that_is_edited_by_hand_is_found_and_written_again(self):
        self.replace("12.2 ±", "12.3 ±")
        self.check("docs/results/page.md:10:", "found:    | quinn | 12.3", "expected: | quinn | 12.2", "hint: `make docs`")
        self.run_script()
        self.check()

    def test_a_missing_row_is_found(self):
        self.replace("| *published* | 16.50 | +2 | \u2013 | |\n", "")
        self.check("docs/results/page.md:11:", "expected: | *published*")

    def test_a_row_with_another_number_of_cells_than_its_head_is_found(self):
        self.write("README.md", "| a | b |\n|---|---|\n| c |\n")
        self.check("README.md:3: found 1 cells, expected 2")

    def test_a_verdict_that_is_typed_into_a_table_of_a_study_is_found(self):
        self.write("docs/results/throughput.md", "| the study | here |\n|---|---|\n| faster | **Holds**: by half |\n")
        self.check("docs/results/throughput.md:1: found the verdict 'Holds' typed into a table, expected a value of claims.STUDY.verdicts[FILE]")
        self.write("docs/results/throughput.md", "| the study | here |\n|---|---|\n| faster | by half |\n")
        self.check()

    def test_a_bar_within_a_cell_is_no_cell(self):
        self.write("README.md", "| a | b |\n|---|---|\n| c \\| d | e |\n")
        self.check()

    def test_a_stored_row_with_another_number_of_cells_is_found(self):
        self.replace("-0.50, 1234567, ", "-0.50, ", "docs/data/demo.json")
        self.check("demo.all: found 4 cells")

    def test_a_wrong_count_is_found(self):
        self.write("stacks/noq/stack.toml", 'transport = "quic"\nroles = ["client"]\n')
        self.check("docs/results/page.md:3:", "expected: 2", "found:    1")

    def test_counts_are_those_of_the_tree(self):
        self.write("stacks/noq/stack.toml", 'transport = "quic"\nroles = ["server"]\n')
        self.write("stacks/curl/stack.toml", 'transport = "quic"\nroles = ["client"]\n')
        self.write("stacks/tcp-tls/stack.toml", 'transport = "tcp"\nroles = ["server", "client"]\n')
        self.write("stacks/contract/endpoint.sh", "")
        self.write("crates/interop/src/cases/transfer.rs", "pub(super) const CASE: Case = Case {};")
        self.write("crates/interop/src/cases/goodput.rs", "pub(super) const CASE: Case = Case { is_measurement: true };")
        expected = {"stacks": 4, "quic_servers": 2, "quic_clients": 1, "interop_cases": 1}
        self.assertEqual(generate.counts(self.root), expected)

    def test_a_count_that_is_typed_by_hand_is_found(self):
        self.write("README.md", "All\n16\nclients of 1 place.\n")
        self.check("README.md:2: found '16\\nclients' typed by hand")

    def test_a_table_of_numbers_that_nothing_makes_is_found_unless_it_is_listed(self):
        self.write("README.md", "| a | b |\n|---|---|\n| c | 17 ms |\n")
        self.check("README.md:1: found a table of numbers that no stored result makes: a | b")
        self.write("docs/data/unconverted.json", '{"tables": [{"page": "README.md", "head": "a | b", "why": "a test"}]}')
        self.check()
        self.write("README.md", "Text.\n")
        self.check("unconverted.json: found no table 'a | b' in README.md")

    def test_another_picture_is_found(self):
        self.write("docs/images/one.png", "another picture")
        self.check("pictures.json: one.png: found another picture")

    def test_a_picture_without_an_entry_or_a_page_is_found(self):
        self.write("docs/images/two.png", "a picture")
        self.replace("images/one.png", "images/two.png")
        self.check("two.png: found no entry", "one.png: found no page that shows it")

    def test_what_a_command_printed_is_written_and_kept(self):
        self.assertIn("\n```text\n| a row of 3 |\nlast\n```\n", self.read("docs/results/page.md"))
        self.assertEqual(json.loads(self.read("docs/data/outputs.json"))["outputs"]["answer"]["command"], "a command")
        self.replace("| a row of 3 |", "| a row of 4 |")
        self.check("page.md:", "expected: | a row of 3 |")

    def test_an_output_that_no_page_shows_or_that_is_not_stored_is_found(self):
        self.replace("<!-- output: answer -->", "<!-- output: other -->")
        self.check("other: found no such output", "answer: found no page that shows it")

    def test_an_output_needs_a_command_and_lines(self):
        file = self.root / "printed"
        for command, pattern in ((None, None), ("a command", re.compile("nothing"))):
            with self.assertRaises(stored.Fault):
                stored.note_output("answer", file, command, pattern, self.root / "docs/data/outputs.json")

    def test_null_needs_a_reason(self):
        self.replace('"qemu": "7.2"', '"qemu": null', "docs/data/demo.json")
        self.check("demo.json: found null, expected the reason in not_recorded")
        self.replace('"source"', '"not_recorded": "lost", "source"', "docs/data/demo.json")
        self.check()

    def test_a_value_must_not_begin_a_line(self):
        self.replace("Made on <!--", "Made on\n<!--")
        self.check("docs/results/page.md:4: found a comment at the start of a line")

    def test_a_block_without_its_end_is_found(self):
        self.replace("<!-- end of data -->\n\n!", "!")
        self.check("found <!-- data: 2 times")

    def test_stacks_and_metrics_that_are_gone_are_reported_without_failing(self):
        self.replace('"quinn"', '"picoquic"', "docs/data/demo.json")
        self.replace("[quinn]", "[picoquic]")
        self.write("docs/reference/metrics.md", "# Metrics\n")
        self.run_script()
        status, said = self.run_script("--check")
        self.assertEqual(status, 0, said)
        self.assertIn("there are no stacks named 'picoquic' any more", said)
        self.assertIn("metrics.md has no metric 'drops_packets' any more", said)

    def test_a_result_of_another_release_of_a_stack_is_reported_without_failing(self):
        self.write("docs/data/demo.json", RESULT.replace('"qemu": "7.2"', '"stacks": {"quinn": "0.11"}'))
        self.write("stacks/quinn/stack.toml", 'version = "0.12"\ntransport = "quic"\nroles = ["server"]\n')
        status, said = self.run_script("--check")
        self.assertEqual(status, 0, said)
        self.assertIn("made with quinn 0.11, and this tree has 0.12", said)

    def test_the_layout_of_reports_is_that_of_quiclab(self):
        source = pathlib.Path(__file__).resolve().parents[2] / "crates/report/src/json.rs"
        self.assertIn(f"const SCHEMA: u32 = {stored.SCHEMA};", source.read_text(encoding="utf-8"))

    def test_a_result_folder_is_taken(self):
        metrics = {"drops_packets": {"mean": 13.333333333333334, "standard_deviation": 0.577, "count": 3}}
        versions = {"qemu": "QEMU emulator version 7.2.22 (Debian)", "guest": "0123456789abcdef", "server.version": "0.11"}
        group = {"label": "quinn", "server": "quinn", "metrics": metrics, "published": None, "runs": [{"record": "quinn-01", "versions": versions}]}
        known = group | {"label": "noq", "server": "noq", "metrics": {}, "published": {"values": {"drops_packets": 16.5}, "source": ""}}
        known["runs"] = [{"record": "noq-01", "versions": versions | {"server.version": "1.4", "kernel": "6.1"}}]
        report = {"schema": 1, "experiment": "a", "command": "quiclab run b.toml", "groups": [group, known]}
        self.write("out/report.json", json.dumps(report | {"schema": 2}))
        with self.assertRaisesRegex(generate.Fault, "found schema 2, expected 1"):
            self.run_script("--take", str(self.root / "out"), "demo")
        self.write("out/report.json", json.dumps(report))
        self.write("stacks/noq/stack.toml", 'transport = "quic"\nroles = ["client"]\n')
        self.run_script("--take", str(self.root / "out"), "demo")
        taken = json.loads(self.read("docs/data/demo.json"))
        quinn = ["quinn", [13.33333, 0.577], -0.5, 1234567, "Pairs, {drops_packets:.0f} dropped."]
        rows = [quinn, ["noq", None, "", "", ""], ["*published*", 16.5, None, None, None]]
        self.assertEqual(taken["tables"]["all"]["rows"], rows)
        self.assertEqual(taken["command"], "quiclab run b.toml")
        self.assertEqual(taken["versions"], {"qemu": "7.2.22", "stacks": {"quinn": "0.11", "noq": "1.4"}})
        self.assertIn("| quinn | 13.3 ± 0.6 | \u22120.50 |", self.read("docs/results/page.md"))
        self.check()


if __name__ == "__main__":
    unittest.main()
