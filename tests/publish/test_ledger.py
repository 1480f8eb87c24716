"""The ledger: what a number was at any publication, on any branch, and what no rewriting of the file gets past."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hooks.errors import PublishError
from hooks.numbers import quantities
from hooks.publication import former, ledger_file
from hooks.publication.ledger import UNPUBLISHED, Ledger, Number, current_version, permalink
from tests.publish.fixture_data import ROOT

A, B = "decode.seconds_per_token", "prefill.seconds_per_token"


def number(id_: str, value: float, alias: str | None = None, **changes: str | None) -> Number:
    """A made-up number."""
    parts = {"text": f"{value:g} s", "unit": "s", "run": "fixture-run", "refusal": None, **changes}
    return Number(id=id_, alias=alias, value=float(value), low=None, high=None, **parts)  # type: ignore[arg-type]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "site_data/schema.json", tmp_path)
    return tmp_path


def publish(folder: Path, *numbers: Number, date: str = "2026-01-02") -> str | None:
    """The version of a publication; None where nothing had changed."""
    published = ledger_file.append(folder, ledger_file.read(folder), numbers, date)
    return published and published.version


def lines(folder: Path) -> list[str]:
    return (folder / ledger_file.FILE).read_text(encoding="utf-8").splitlines()


def texts(ledger: Ledger, version: str, id_: str, alias: str | None = None) -> list[str]:
    return [entry.number.text for entry in ledger.at(version, id_, alias)]


def test_a_line_for_each_changed_number_and_none_for_others(folder: Path) -> None:
    assert publish(folder, number(A, 1), number(B, 2), number(A, 3, "gpu")) == "2026-01-02.1"
    assert len(lines(folder)) == 3
    before = lines(folder)
    assert publish(folder, number(A, 1), number(B, 2), number(A, 3, "gpu")) is None
    assert lines(folder) == before
    assert publish(folder, number(A, 1), number(B, 2.5), number(A, 3, "gpu")) == "2026-01-02.2"
    assert lines(folder)[:3] == before
    (line,) = map(json.loads, lines(folder)[3:])
    assert (line["id"], line["value"], line["text"]) == (B, 2.5, "2.5 s")
    assert (line["version"], line["date"], line["run"]) == ("2026-01-02.2", "2026-01-02", "fixture-run")
    ledger = ledger_file.read(folder)
    assert texts(ledger, "2026-01-02.1", B) == ["2 s"]
    assert texts(ledger, "2026-01-02.2", B) == ["2.5 s"]
    assert texts(ledger, "2026-01-02.2", A) == ["1 s"] and texts(ledger, "2026-01-02.2", A, "gpu") == ["3 s"]
    assert [entry.number.text for entry in ledger.history(B)] == ["2 s", "2.5 s"]
    assert texts(ledger, "2026-01-03.1", A) == [] and texts(ledger, "2026-01-02.1", "weights.bytes") == []


def test_another_run_or_reason_is_a_change_and_a_last_digit_is_none(folder: Path) -> None:
    publish(folder, number(A, 1.0))
    assert publish(folder, number(A, 1.0, run="another-run")) is not None
    assert publish(folder, number(A, 1.0, run=None, refusal="unavailable", text="no meter")) is not None


def test_versions_follow_one_another(folder: Path) -> None:
    assert publish(folder, number(A, 1), date="2026-03-01") == "2026-03-01.1"
    assert publish(folder, number(A, 2), date="2026-02-01") == "2026-03-01.2", "a clock that goes wrong"
    for value in range(3, 12):
        version = publish(folder, number(A, value), date="2026-03-01")
    assert version == "2026-03-01.11"
    assert publish(folder, number(A, 1), date="2026-03-02") == "2026-03-02.1"
    ledger = ledger_file.read(folder)
    assert [each.version for each in ledger.publications][-3:] == [
        "2026-03-01.10",
        "2026-03-01.11",
        "2026-03-02.1",
    ]
    assert ledger.is_chain


def test_the_version_of_numbers(folder: Path) -> None:
    assert current_version(ledger_file.read(folder), [number(A, 1)]) == UNPUBLISHED
    publish(folder, number(A, 1), number(B, 1))
    publish(folder, number(A, 2), number(B, 1))
    ledger = ledger_file.read(folder)
    assert current_version(ledger, [number(A, 2), number(B, 1)]) == "2026-01-02.2"
    assert current_version(ledger, [number(A, 1), number(B, 1)]) == UNPUBLISHED
    assert ledger.version_of(number(B, 1)) == "2026-01-02.2"
    assert ledger.version_of(number(A, 1)) == UNPUBLISHED
    assert ledger.version_of(number("weights.bytes", 1)) == UNPUBLISHED


def test_permalinks() -> None:
    assert permalink("a/b.html", A, "2026-01-02.1") == f"a/b.html?published=2026-01-02.1#n-{A}"
    assert permalink("a/b.html", A, "2026-01-02.1", "gpu") == f"a/b.html?published=2026-01-02.1#n-{A}:gpu"
    assert permalink("a/b.html", A, UNPUBLISHED) == f"a/b.html#n-{A}"


def _changed(found: list[str]) -> list[str]:
    return [found[0].replace("1 s", "9 s"), *found[1:]]


def _moved(found: list[str]) -> list[str]:
    return [found[0].replace('.1"', '.7"', 1), *found[1:]]


REWRITINGS = {
    "a line was changed": _changed,
    "a version was changed": _moved,
    "a line was taken away": lambda found: found[1:],
    "a line was added": lambda found: [*found, found[0].replace(A, "weights.bytes")],
    "a publication was taken away": lambda found: found[2:],
    "two lines of one publication name others before it": lambda found: [
        *found[:2],
        found[2].replace('"after": [', '"after": ["0000000000000000", '),
    ],
    "a number is no number": lambda found: [found[0].replace("1.0", '"1"'), *found[1:]],
    "half a line": lambda found: [*found[:2], found[2][:40]],
}


@pytest.mark.parametrize("what", REWRITINGS)
def test_rewriting_is_an_error(what: str, folder: Path) -> None:
    publish(folder, number(A, 1), number(B, 2))
    publish(folder, number(A, 3), number(B, 2))
    path = folder / ledger_file.FILE
    found = lines(folder)
    rewritten = REWRITINGS[what](found)
    assert rewritten != found
    path.write_text("\n".join(rewritten) + "\n", encoding="utf-8")
    with pytest.raises(PublishError) as error:
        ledger_file.read(folder)
    assert f"{ledger_file.FILE}:" in str(error.value) and "mend: " in str(error.value)


def test_what_git_has_must_be_there(folder: Path) -> None:
    publish(folder, number(A, 1))
    publish(folder, number(A, 2))
    text = (folder / ledger_file.FILE).read_text(encoding="utf-8")
    ledger_file.refuse_loss(folder, [text, ""])
    (folder / ledger_file.FILE).write_text(text.splitlines(keepends=True)[0], encoding="utf-8")
    ledger_file.read(folder)  # the last publication is followed by none: only git knows of it
    with pytest.raises(PublishError, match="lost what was published"):
        ledger_file.refuse_loss(folder, [text])
    (folder / ledger_file.FILE).unlink()
    with pytest.raises(PublishError, match="lost 2 lines"):
        ledger_file.refuse_loss(folder, [text])


# --- branches ---------------------------------------------------------------------------------------


def test_what_one_branch_published_is_not_taken_for_what_the_other_did(folder: Path) -> None:
    path = folder / ledger_file.FILE
    publish(folder, number(A, 1), number(B, 1))
    base = path.read_text(encoding="utf-8")
    publish(folder, number(A, 2), number(B, 1), date="2026-01-03")
    one = path.read_text(encoding="utf-8")
    path.write_text(base, encoding="utf-8")
    publish(folder, number(A, 1), number(B, 5), date="2026-01-04")  # its A is still the old one
    path.write_text(base + path.read_text(encoding="utf-8")[len(base) :] + one[len(base) :], encoding="utf-8")
    ledger = ledger_file.read(folder)
    assert not ledger.is_chain and len(ledger.heads) == 2
    assert texts(ledger, "2026-01-03.1", A) == ["2 s"] and texts(ledger, "2026-01-03.1", B) == ["1 s"]
    assert texts(ledger, "2026-01-04.1", A) == ["1 s"] and texts(ledger, "2026-01-04.1", B) == ["5 s"]
    assert publish(folder, number(A, 2), number(B, 5), date="2026-01-05") is None, "both are published"
    assert publish(folder, number(A, 3), number(B, 5), date="2026-01-05") == "2026-01-05.1"
    ledger = ledger_file.read(folder)
    assert texts(ledger, "2026-01-05.1", B) == ["5 s"] and len(ledger.heads) == 1
    assert publish(folder, number(A, 3), number(B, 5)) is None


def test_two_branches_under_one_version_are_both_told(folder: Path) -> None:
    path = folder / ledger_file.FILE
    publish(folder, number(A, 1), number(B, 1))
    base = path.read_text(encoding="utf-8")
    parts = []
    for a, b in ((2, 1), (3, 4)):
        path.write_text(base, encoding="utf-8")
        assert publish(folder, number(A, a), number(B, b)) == "2026-01-02.2"
        parts.append(path.read_text(encoding="utf-8")[len(base) :])
    path.write_text(base + "".join(parts), encoding="utf-8")
    ledger = ledger_file.read(folder)
    assert sorted(texts(ledger, "2026-01-02.2", A)) == ["2 s", "3 s"]
    assert sorted(texts(ledger, "2026-01-02.2", B)) == ["1 s", "4 s"]
    assert not ledger.holds(number(A, 2)) and not ledger.holds(number(A, 3)), (
        "which of them it is, no version says"
    )
    assert publish(folder, number(A, 3), number(B, 4)) == "2026-01-02.3"
    ledger = ledger_file.read(folder)
    assert texts(ledger, "2026-01-02.3", A) == ["3 s"] and texts(ledger, "2026-01-02.3", B) == ["4 s"]
    assert publish(folder, number(A, 3), number(B, 4)) is None


Steps = list[tuple[str, int, int, int]]


@settings(max_examples=60)
@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["publish", "branch", "merge"]), *[st.integers(0, 3)] * 3), max_size=14
    ),
    seed=st.integers(0, 99),
)
def test_every_publication_gives_back_what_it_stated(
    steps: Steps, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Any history of branches: a model keeps the state of each, and the ledger tells it, whatever its lines' order."""
    folder = tmp_path_factory.mktemp("ledger")
    shutil.copy(ROOT / "site_data/schema.json", folder)
    path = folder / ledger_file.FILE
    branches: list[tuple[set[str], dict[str, float]]] = [(set(), {A: 0, B: 0})]
    stated: dict[str, list[Mapping[str, float]]] = {}
    shuffled = random.Random(seed)
    for what, which, value, other in steps:
        held, state = branches[which % len(branches)]
        if what == "branch":
            branches.append((set(held), dict(state)))
        elif what == "merge":
            held |= branches[other % len(branches)][0]
        else:
            state |= {A: value, B: other}
            order = sorted(held)
            shuffled.shuffle(order)
            path.write_text("".join(f"{line}\n" for line in order), encoding="utf-8")
            version = publish(folder, *(number(id_, each) for id_, each in state.items()))
            held |= set(lines(folder))
            if version:
                stated.setdefault(version, []).append(dict(state))
    every = sorted({line for held, _ in branches for line in held})
    shuffled.shuffle(every)
    path.write_text("".join(f"{line}\n" for line in every), encoding="utf-8")
    ledger = ledger_file.read(folder)
    for version, states in stated.items():
        for id_ in (A, B):
            assert set(texts(ledger, version, id_)) == {f"{state[id_]:g} s" for state in states}


# --- former names -----------------------------------------------------------------------------------


def test_a_renamed_number_keeps_its_history(folder: Path) -> None:
    publish(folder, number("decode.old_name", 1, "cpu"), number("decode.old_name", 1))
    was, runs = {A: ("decode.old_name",)}, {"main": ("cpu",)}
    ledger = ledger_file.read(folder, was, runs)
    assert ledger.holds(number(A, 1)) and ledger.holds(number(A, 1, "main"))
    assert texts(ledger, "2026-01-02.1", A) == ["1 s"] == texts(ledger, "2026-01-02.1", "decode.old_name")
    assert ledger_file.append(folder, ledger, [number(A, 1), number(A, 1, "main")], "2026-01-03") is None
    assert ledger_file.append(folder, ledger, [number(A, 2)], "2026-01-03") is not None
    ledger = ledger_file.read(folder, was, runs)
    assert [entry.number.text for entry in ledger.history(A)] == ["1 s", "2 s"]
    assert texts(ledger, "2026-01-02.1", A) == ["1 s"] and texts(ledger, "2026-01-03.1", A) == ["2 s"]


HEAD = 'version = 1\n\n[runs.main]\nlabel = "L"\nmodel = "qwen2.5-1.5b"\nplans = ["standard"]\n'
COUNT = '\n[quantity."a.b"]\ntitle = "T"\nmeaning = "M"\nunit = "1"\n'


def vanished(folder: Path, list_: str, *published: Number) -> Iterator[PublishError]:
    """The errors of a list of quantities, where these numbers were published before."""
    from hooks.data import store

    for part in ("models", "cited", "tokenizers"):
        if not (folder / part).is_dir():
            shutil.copytree(ROOT / "site_data" / part, folder / part)
    path = folder.parent / f"{folder.name}.toml"
    path.write_text(list_, encoding="utf-8")
    definitions = quantities.read(path)
    publish(folder, *published)
    return former.vanished(ledger_file.read(folder), definitions, store.load(folder))


@pytest.mark.parametrize(
    "list_",
    [
        f'{HEAD}{COUNT}formula = "1"\n',
        f'{HEAD}{COUNT.replace("a.b", "a.c")}formula = "1"\nwas = ["a.b"]\n',
        f'{HEAD}{COUNT}retired = "it was wrong"\n',
    ],
)
def test_what_was_published_leads_somewhere(list_: str, folder: Path) -> None:
    (folder / "runs").mkdir()
    assert not list(vanished(folder, list_, number("a.b", 1)))


def test_what_was_published_and_is_gone_is_an_error(folder: Path) -> None:
    (folder / "runs").mkdir()
    kept = f'{HEAD}{COUNT.replace("a.b", "a.c")}formula = "1"\n'
    gone = [number("a.b", 1), number("a.c", 1, "gone"), number("a.c", 1), number("model.no-such.layers", 1)]
    errors = [str(error) for error in vanished(folder, kept, *gone)]
    assert len(errors) == 3
    assert "`a.b` was published and is not defined any more" in errors[0] and 'was = ["a.b"]' in errors[0]
    assert "nearest known: a.c" in errors[0] and "published last as “1 s” in 2026-01-02.1" in errors[0]
    assert "of the run `gone`" in errors[1] and "`model.no-such.layers`" in errors[2]
    retired = kept + COUNT.replace("a.b", "model.no-such.layers") + 'retired = "the model is gone"\n'
    assert len(list(vanished(folder, retired, *gone))) == 2
