"""Stores the source archive of aiopquic 0.6.1, which holds picoquic and picotls, as the file that is named.

It comes from the package index that pip is configured for. pip's own command would run the archive's set-up, and refuses a Python
older than aiopquic wants, although nothing of Python is used here; so only its client and its list of candidates are.
"""

import hashlib
import sys

from pip._internal.commands import create_command

VERSION = "0.6.1"
SHA256 = "72579146e0f22859a5a7c197246604fef460b9e1b578a2910156dff7679efd29"

download = create_command("download")
with download.main_context():
    options, _ = download.parse_args(["--no-deps", "--no-binary", ":all:", "aiopquic"])
    session = download.get_default_session(options)
    finder = download._build_package_finder(options, session, ignore_requires_python=True)
    found = [each.link for each in finder.find_all_candidates("aiopquic") if str(each.version) == VERSION]
    if not found:
        sys.exit(f"the package index has no source archive of aiopquic {VERSION}")
    answer = session.get(found[0].url_without_fragment, headers={"Accept-Encoding": "identity"})
    answer.raise_for_status()
digest = hashlib.sha256(answer.content).hexdigest()
if digest != SHA256:
    sys.exit(f"aiopquic {VERSION}: found a source archive with SHA-256 {digest}, expected {SHA256}")
with open(sys.argv[1], "wb") as file:
    file.write(answer.content)
