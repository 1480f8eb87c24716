"""The security header: what it allows, how it is computed, and that the documentation shows the same."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from pathlib import Path

from hooks.output import policy
from tests.publish.fixture_data import ROOT

RUN = "var a=1\n  && 2;"
PAGE = f"""<!doctype html><html><head>
<script src="a.js"></script><script defer src=b.js></script>
<script>{RUN}</script>
<script id="__config" type="application/json">{{"base": "."}}</script>
</head><body><p>&lt;script&gt;no&lt;/script&gt;</p></body></html>"""


def test_scripts_within_pages_are_named_by_their_hashes() -> None:
    digest = b64encode(hashlib.sha256(RUN.encode()).digest()).decode()
    assert f"script-src 'self' 'sha256-{digest}'; style-src" in policy.header([PAGE])
    assert policy.header([PAGE, PAGE.replace(RUN, "other()")]).count("'sha256-") == 2
    assert policy.header([PAGE, PAGE]).count("'sha256-") == 1


def test_it_allows_no_other_host_and_no_text_as_code() -> None:
    header = policy.header([PAGE])
    assert header.startswith("default-src 'none'; ")
    assert "unsafe" not in header and "*" not in header and "://" not in header
    sources = {source for part in header.split("; ") for source in part.split()[1:]}
    assert {source for source in sources if not source.startswith("'sha256-")} == {
        "'self'",
        "'none'",
        "data:",
    }


def test_the_documentation_shows_it() -> None:
    text = (ROOT / "docs/reference/hosting.md").read_text(encoding="utf-8")
    assert re.findall(r"^Content-Security-Policy: (.+)$", text, re.MULTILINE) == [policy.TEMPLATE]


def test_the_file_for_hosts(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "index.html").write_text(PAGE, encoding="utf-8")
    (tmp_path / "notes/a.html").write_text(PAGE.replace(RUN, "other()"), encoding="utf-8")
    policy.write(tmp_path)
    first, second, *_ = (tmp_path / "_headers").read_text(encoding="utf-8").splitlines()
    assert first == "/*"
    expected = policy.header([PAGE, PAGE.replace(RUN, "other()")])
    assert second == f"  Content-Security-Policy: {expected}"
