"""Pages for other runs than the main one: which runs, what differs on a page, and what never stops a build."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import Any

import markdown
import pytest

from hooks.data.records import Run
from hooks.errors import PublishErrors
from hooks.extension import Site, SplicedExtension
from hooks.numbers.book import Book
from hooks.numbers.formatting import SPACE
from hooks.switching import machines, switch
from hooks.writing.pages import PageState
from tests.publish.test_pages import OTHERS

GPU, SMALL = "fixture-gpu", "fixture-small"

PAGE = """# Times {#times}

A token takes {{ decode.seconds_per_token }}. It takes more than a tenth of a second.
{{ claim decode.seconds_per_token > 0.1 }}
The model has {{ model qwen2.5-1.5b.layers }} layers. Writing takes longer.
{{ claim decode.seconds_per_token > prefill.seconds_per_token }}

{{ when energy.decode_over_prefill }}

Energy \\*was\\* measured & is {{ energy.decode_over_prefill }} times. That is more.
{{ claim energy.decode_over_prefill > 1 }}

{{ chart energy-per-token }}

{{ otherwise }}

Energy was not measured.

{{ end }}

In line: {{ when energy.decode_over_prefill }}It was.{{ otherwise }}It was not.{{ end }} Decode is slow.
{{ claim decode.seconds_per_token > 0.1 }}

## Depth {{ decode.seconds_per_token.at_1000 }} {#depth}

{{ chart kv-cache-against-weights }}

Of another run always: {{ decode.seconds_per_token run=real-weights }}.

<span data-pace="{{ decode.seconds_per_token as=exact }}">Raw.</span>

![A token takes {{ decode.seconds_per_token }}](bar.svg)

{{ measured-in }}
"""


@dataclass(frozen=True)
class Made:
    """A page as it was made: its HTML and what differs for other runs."""

    html: str
    page: PageState

    def texts(self, run_id: str) -> str:
        """Everything that the page gives for a run, as text."""
        found = self.page.patches[run_id]
        return re.sub(r"<[^>]+>", "", " ".join([*found.whole.values(), *found.inside.values()]))


def make(site: Site, source: str = PAGE) -> Made:
    """The page with all that the site can show."""
    page = PageState("page.md", "page.md")
    page.begin(source)
    extension = SplicedExtension()
    extension.site, extension.page = replace(site, choices=machines.choices(site.book)), page
    html = markdown.markdown(source, extensions=[extension, *OTHERS])
    return Made(html, page)


@pytest.fixture(scope="module")
def made(site: Site) -> Made:
    made = make(site)
    assert not made.page.errors, made.page.errors
    return made


def like(run: Run, id_: str | None = None, **changes: Any) -> Run:
    """A run with the samples of another, and another record."""
    return replace(run, id=id_ or run.id, record={**run.record, **changes}, read=lambda: run.samples)


def with_runs(site: Site, *runs: Run) -> Site:
    """The site as if it had these runs and no others."""
    store = replace(site.book.store, runs={run.id: run for run in runs})
    return replace(site, book=Book(store, site.book.definitions))


def key_of(html: str, pattern: str) -> str:
    """The key of the first place whose tag the pattern finds."""
    found = re.search(rf"<[^>]*{pattern}[^>]*>", html)
    assert found, pattern
    key = re.search(r'data-run-slot="(\w+)"', found[0])
    assert key, found[0]
    return key[1]


# ---------------------------------------------------------------- which runs


def test_one_choice_for_each_machine_and_model(site: Site) -> None:
    found = machines.choices(site.book)
    assert [choice.run.id for choice in found] == [GPU, SMALL], "the main run's model first; nothing imported"
    assert [choice.same_model for choice in found] == [True, False]
    assert "GPU" in found[0].label and "Qwen2.5-1.5B" in found[0].label and "2025-12-31" in found[0].label
    assert found[1].name.endswith("with SmolLM2-135M")


def test_an_older_run_of_the_same_two_is_no_choice(site: Site) -> None:
    main = site.book.run("main")
    older = like(main, "older", finished_at="2025-01-02T04:00:00Z")
    assert machines.choices(with_runs(site, older, main).book) == ()


def test_a_short_plan_is_a_choice_only_where_no_other_was_run(site: Site) -> None:
    main, gpu = site.book.run("main"), site.book.run("gpu")
    plan, late = main.record["plan"] | {"name": "quick"}, "2026-02-02T04:00:00Z"
    short = [
        like(main, run_id, plan=plan, machine=main.record["machine"] | {"id": id_}, finished_at=late)
        for run_id, id_ in (("short", "fixture-gpu"), ("other", "fixture-third"))
    ]
    found = machines.choices(with_runs(site, main, gpu, *short).book)
    assert [choice.run.id for choice in found] == ["other", GPU]


def test_there_are_only_so_many_choices(site: Site) -> None:
    main = site.book.run("main")
    others = [
        like(
            main,
            f"run-{n:02}",
            machine=main.record["machine"] | {"id": f"machine-{n}"},
            finished_at=f"2025-01-{n:02}",
        )
        for n in range(1, 31)
    ]
    found = machines.choices(with_runs(site, main, *others).book)
    assert [choice.run.id for choice in found] == [f"run-{n:02}" for n in range(30, 30 - machines.MOST, -1)]


def test_without_a_main_run_there_is_no_choice(site: Site) -> None:
    assert machines.choices(with_runs(site, site.book.run("real-weights")).book) == ()


# ---------------------------------------------------------------- what differs


def test_a_site_with_one_machine_is_as_it_was(site: Site) -> None:
    extension = SplicedExtension(page="page.md")
    extension.site = site
    html = markdown.markdown(PAGE, extensions=[extension, *OTHERS])
    assert "run-slot" not in html and "machine-switch" not in html and "run-branch" not in html


def test_numbers_differ_and_facts_do_not(made: Made) -> None:
    whole = made.page.patches[GPU].whole
    number = whole[key_of(made.html, 'class="has-provenance"')]
    assert f"7.1{SPACE}ms" in number and "fixture machine with a GPU" in number, "with its provenance"
    assert 'id="elsewhere-' in number, "ids that no popover of the page has"
    assert not any("model.qwen2.5-1.5b.layers" in html for html in whole.values())
    assert not any(":real-weights" in html for html in whole.values())
    assert not any("kv-cache-against-weights" in html for html in whole.values()), "it is of no run"
    assert re.search(r"<h2[^>]*>Depth <span[^>]*data-run-slot", made.html)


def test_a_claim_that_fails_elsewhere_says_so_and_stops_nothing(made: Made) -> None:
    found = made.page.patches[GPU]
    key = key_of(made.html, 'data-claim="decode.seconds_per_token &gt; 0.1"')
    assert found.attributes[key] == {"class": "claim-contradicted"}
    mark = found.whole[key.removesuffix("s")]
    assert "does not hold on fixture machine with a GPU" in mark and f"7.1{SPACE}ms" in mark
    held = key_of(made.html, 'data-claim="decode.seconds_per_token &gt; prefill')
    assert held not in found.attributes and "✓" in found.whole[held.removesuffix("s")]
    assert all(claim.held is not False for claim in made.page.claims)


def test_the_same_claim_stops_the_main_run(site: Site) -> None:
    extension = SplicedExtension()
    extension.site = with_runs(site, site.book.run("gpu"))
    with pytest.raises(PublishErrors, match="the data contradict"):
        markdown.markdown(PAGE.partition("The model")[0], extensions=[extension, *OTHERS])


def test_the_other_branch_is_there_with_all_that_is_in_it(made: Made) -> None:
    found = made.page.patches[GPU]
    block = found.inside[key_of(made.html, 'div class="run-branch"')]
    assert "Energy *was* measured &amp; is" in block, "finished as the page is"
    assert "<figure" in block and "chart-energy-per-token" in block and 'class="claim"' in block
    line = found.inside[key_of(made.html, 'span class="run-branch"')]
    assert line == "It was."
    assert not set(found.inside) & set(made.page.patches[SMALL].inside), (
        "the small run has the main one's branches"
    )


def test_a_sentence_after_a_branch_is_the_claims_alone(made: Made) -> None:
    sentences = [claim.sentence for claim in made.page.claims]
    assert "Decode is slow." in sentences


def test_attributes_differ(made: Made) -> None:
    attributes = made.page.patches[GPU].attributes
    pace = attributes[key_of(made.html, "data-pace=")]
    assert pace == {"data-pace": f"0.0071{SPACE}s"}, pace
    assert attributes[key_of(made.html, "alt=")]["alt"] == f"A token takes 7.1{SPACE}ms"


def test_measured_in_names_the_other_run(made: Made) -> None:
    key = key_of(made.html, 'class="measured-in"')
    assert GPU in made.page.patches[GPU].whole[key]


def test_the_switch_stands_under_the_heading(made: Made) -> None:
    assert re.search(r"</h1>\s*<div class=\"machine-switch\"", made.html)
    values = re.findall(r'<option[^>]* value="([^"]+)"|value="([^"]+)"', made.html)
    assert [a or b for a, b in values] == ["fixture-main", GPU, SMALL]
    assert f'data-src="data/machines/page/{GPU}.js?{switch.edition(made.page, GPU)}"' in made.html


def test_an_author_can_place_the_switch(site: Site) -> None:
    source = "# Top {#top}\n\nText.\n\n{{ machine-switch }}\n\nIt takes {{ decode.seconds_per_token }}.\n"
    made = make(site, source)
    assert re.search(r"<p>Text.</p>\s*<div class=\"machine-switch\"", made.html)
    assert made.html.count("machine-switch") == 1
    facts = make(site, source.replace("decode.seconds_per_token", "model qwen2.5-1.5b.layers"))
    assert "machine-switch" not in facts.html and "<p></p>" not in facts.html, (
        "nothing there depends on a run"
    )


def test_the_file_is_a_script_that_sets_a_value(made: Made) -> None:
    text = switch.script(made.page, GPU, lambda html: html)
    head, _, value = text.partition(" = ")
    assert head == f'(window.splicedRuns ??= {{}})["page.md {GPU}"]'
    read = json.loads(value.rstrip(";\n"))
    assert set(read) == {"edition", "whole", "inside", "attributes"}
    assert f'data-edition="{read["edition"]}"' in made.html


def test_it_is_the_same_each_time(made: Made, site: Site) -> None:
    again = make(site)
    assert again.html == made.html and again.page.patches == made.page.patches


def test_another_pages_file_has_another_edition(made: Made, site: Site) -> None:
    assert switch.edition(make(site, PAGE + "\nMore.\n").page, GPU) != switch.edition(made.page, GPU)


# ---------------------------------------------------------------- runs that lack something


@pytest.fixture(scope="module")
def short(site: Site) -> Made:
    """The page on a site whose other run has two processes and few cells."""
    main = site.book.run("main")

    def wanted(experiment: str, batch: int, tokens: int | None, mode: str) -> bool:
        return (experiment, batch, tokens, mode) in (
            ("prefill", 1, 500, "eager"),
            ("decode", 1, 500, "eager"),
        )

    cells = [
        cell
        for cell in main.record["plan"]["cells"]
        if wanted(
            cell["experiment"], cell["batch"], cell["prompt_tokens"] or cell["context_tokens"], cell["mode"]
        )
    ]
    samples = tuple(
        each
        for each in main.samples
        if each.process < 2
        and wanted(each.experiment, each.batch, each.prompt_tokens or each.context_tokens, each.mode)
    )
    other = replace(
        like(
            main,
            "fixture-short",
            plan=main.record["plan"] | {"name": "quick", "rounds": 2, "cells": cells},
            machine=main.record["machine"] | {"id": "fixture-laptop", "label": "fixture laptop"},
        ),
        read=lambda: samples,
    )
    source = PAGE + (
        "\nWriting takes longer, surely. {{ claim decode.seconds_per_token.low > prefill.seconds_per_token.high }}\n\n"
        "{{ when decode.seconds_per_token.low > 0 }}Sure.{{ otherwise }}Unsure.{{ end }}\n\n"
        "{{ chart roofline }}\n\n{{ chart decode-modes }}\n\n{{ chart samples of=decode.fast.seconds_per_token }}\n\n"
        "{{ chart decode-by-depth }}\n\n{{ decode.seconds_per_token.by_depth }}, {{ ceilings.read_bytes_per_s }}\n"
    )
    made = make(with_runs(site, main, site.book.run("real-weights"), other), source)
    assert not made.page.errors, "\n\n".join(map(str, made.page.errors))
    return made


def test_what_a_run_did_not_measure_is_refused_in_words(short: Made) -> None:
    texts = short.texts("fixture-short")
    assert "not measured in this run" in texts
    depth = key_of(short.html, 'data-quantity="decode.seconds_per_token.at_1000"')
    assert 'data-refusal="unavailable"' in short.page.patches["fixture-short"].whole[depth]


def test_what_needs_an_interval_is_not_checked_there(short: Made) -> None:
    found = short.page.patches["fixture-short"]
    key = key_of(short.html, 'data-claim="decode.seconds_per_token.low')
    assert found.attributes[key] == {"class": "claim-unchecked"}
    assert "not yet checked" in found.whole[key.removesuffix("s")]
    assert "Unsure." in found.inside.values()


def test_a_run_that_lost_samples_stops_the_build(site: Site) -> None:
    gpu = site.book.run("gpu")
    kept = tuple(
        each
        for each in gpu.samples
        if (each.experiment, each.context_tokens, each.mode) != ("decode", 500, "eager")
    )
    made = make(with_runs(site, site.book.run("main"), replace(gpu, read=lambda: kept)))
    assert made.page.errors and "fixture-gpu" in str(made.page.errors[0])
