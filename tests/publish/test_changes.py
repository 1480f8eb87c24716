"""What changed between two builds, as `python -m hooks.changes` prints it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import markdown
import pytest

from hooks.build import Build, dump
from hooks.changes import compare, main
from hooks.extension import Site
from tests.publish import fixture_data

PAGE = (
    "Decode takes {{ decode.seconds_per_token }}, longer. "
    "{{ claim decode.seconds_per_token > prefill.seconds_per_token }}"
)


def publish(folder: Path, source: str = PAGE) -> dict[str, Any]:
    build = Build(Site.open(folder, fixture_data.ROOT / "docs/quantities.toml"), folder.parent / ".build")
    build.extension.site = build.site
    build.begin("notes/page.md", "docs/notes/page.md", source)
    markdown.markdown(source, extensions=[build.extension])
    build.end()
    return json.loads(dump(build.published()))  # type: ignore[no-any-return]


@pytest.fixture
def old(site_data: Path) -> dict[str, Any]:
    return publish(site_data)


def test_nothing_changed(old: dict[str, Any]) -> None:
    assert list(compare(old, old)) == []


def test_a_changed_number_has_its_old_and_its_new_value(old: dict[str, Any], empty_data: Path) -> None:
    times = lambda *cell: fixture_data.seconds_per_token(*cell) * (2 if cell[0] == "decode" else 1)  # noqa: E731
    fixture_data.write_run(empty_data, "another", fixture_data.samples(times))
    page, *lines, elsewhere = compare(old, publish(empty_data))
    assert page == "notes/page.md"
    assert len(lines) == 2
    assert elsewhere.endswith(" numbers on no page but their own, which --all names")
    assert "decode.seconds_per_token: 355" in lines[0] and "→ 710" in lines[0]
    assert "(run fixture-main → another)" in lines[0]


def test_a_claim_that_no_longer_holds_has_both_values(old: dict[str, Any], empty_data: Path) -> None:
    times = lambda *cell: 0.12 if cell[0] == "decode" else 0.18  # noqa: E731
    fixture_data.write_run(empty_data, records=fixture_data.samples(times))
    text = "\n".join(compare(old, publish(empty_data)))
    assert "no longer true: “Decode takes 120" in text
    assert "decode.seconds_per_token = 120" in text and "; before: 355" in text
    assert "prefill.seconds_per_token = 180" in text and "; before: 26" in text


def test_numbers_come_and_go(old: dict[str, Any], site_data: Path) -> None:
    text = "\n".join(compare(old, publish(site_data, "{{ weights.bytes }}")))
    assert "decode.seconds_per_token: 355" in text and "no longer on the page" in text
    assert "weights.bytes: new on the page → 6.17" in text


def test_a_run_that_no_alias_takes_is_named(old: dict[str, Any], empty_data: Path) -> None:
    plan = fixture_data.run_record("quick-run", 0)["plan"] | {"name": "quick"}
    fixture_data.write_run(empty_data)
    fixture_data.write_run(empty_data, "quick-run", plan=plan)
    *_, line = compare(old, publish(empty_data))
    assert line.startswith(
        "quick-run is on no page: no alias in docs/quantities.toml takes it (qwen2.5-1.5b, plan quick"
    )


def test_the_command(old: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "old.json"
    path.write_text(dump(old), encoding="utf-8")
    assert main([str(path), str(path)]) == 0
    assert capsys.readouterr().out == "Nothing that is published changed.\n"
    assert main([str(path), str(tmp_path / "none.json")]) == 2
    assert "`make site` writes site/published.json" in capsys.readouterr().err


def test_braces_in_the_finished_page_are_noticed(site_data: Path, tmp_path: Path) -> None:
    build = Build(Site.open(site_data, fixture_data.ROOT / "docs/quantities.toml"), tmp_path)
    build.begin("index.md", "docs/index.md", "")
    build.check_output("index.md", "<title>ok</title><code>{{ fine }}</code><script>{{ fine }}</script>")
    assert build.errors == ()
    build.check_output("index.md", "<title>{{ left.over }}</title>")
    (error,) = build.errors
    assert "docs/index.md" in str(error) and "{{ left.over }}" in str(error)
