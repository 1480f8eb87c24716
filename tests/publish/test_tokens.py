"""Text through the tokenizer and back: exactly the same text, and the tokens that transformers gives."""

from __future__ import annotations

import lzma
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hooks.data import store
from hooks.errors import PublishError
from hooks.numbers import formatting
from hooks.writing import tokens
from tests.publish.fixture_data import ROOT

DATA = store.load_cached(ROOT / "site_data")

# Hypothesis's text() leaves surrogates out of UTF-8 only when told; pages cannot hold NUL.
any_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=80)


class TextOf(HTMLParser):
    """What a browser takes as the text of HTML, as far as line ends and escapes go."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.text = ""
        self.feed(re.sub("\r\n?", "\n", source))
        self.close()

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_headline() -> None:
    pieces = tokens.tokenize("Spliced inference", DATA)
    assert [(piece.text, piece.ids) for piece in pieces] == [
        ("Sp", (6406,)),
        ("liced", (74630,)),
        (" inference", (44378,)),
    ]


def test_without_its_space_inference_is_two() -> None:
    assert [piece.text for piece in tokens.tokenize("inference", DATA)] == ["in", "ference"]


@given(any_text)
@example("e\u0301 \u00e9 \ufb01 \u212b")
@example("👩‍👩‍👧‍👦🇩🇪🏳️‍🌈")
@example("नमस्ते 日本語 שלום")
@example(" \r\n\t\x0b  \u2028")
@example("<|endoftext|> <script>&amp;</script>")
def test_any_text_comes_back_exactly(text: str) -> None:
    pieces = tokens.tokenize(text, DATA)
    assert "".join(piece.text for piece in pieces) == text
    assert all(piece.ids for piece in pieces)
    joined = [id_ for piece in pieces for id_ in piece.ids]
    assert joined == tokens.load(DATA).encode(text, add_special_tokens=False).ids


@given(any_text)
@example("<b onclick='x'>&amp;&lt;</span><script>\r\n\r")
def test_any_text_is_inert_and_exact_in_html(text: str) -> None:
    text = text.replace("\x02", "?").replace(
        "\x03", "?"
    )  # Python's parser drops their references, browsers do not
    source = tokens.html(tokens.tokenize(text, DATA))
    assert set(re.findall(r"<(\w+)", source)) == {"span"}
    assert TextOf(source).text == text


@given(any_text)
@example("👩‍👩‍👧‍👦🇩🇪🏳️‍🌈")
def test_tokens_are_counted_and_not_pieces(text: str) -> None:
    count = tokens.count(tokens.tokenize(text, DATA))
    assert count == len(tokens.load(DATA).encode(text, add_special_tokens=False).ids)


@pytest.mark.parametrize(
    ("count", "said"), [(1, "one"), (3, "three"), (12, "twelve"), (13, "13"), (1200, "1,200")]
)
def test_a_count_is_said_in_words_as_far_as_a_sentence_has_them(count: int, said: str) -> None:
    assert formatting.counted(count) == said


@pytest.mark.parametrize("text", ["🪿", "👩‍👩‍👧‍👦", "🇩🇪", "ก็"])
def test_a_character_cut_into_tokens_is_one_piece(text: str) -> None:
    """Be it one character of Unicode in several tokens, or several in one that a reader sees."""
    (piece,) = tokens.tokenize(text, DATA)
    assert piece.text == text and len(piece.ids) > 1
    assert f'data-token-id="{" ".join(map(str, piece.ids))}"' in tokens.html([piece])


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
def test_what_no_page_can_show(text: str) -> None:
    with pytest.raises(PublishError, match="a page cannot show"):
        tokens.tokenize(text, DATA)


def test_an_unknown_tokenizer() -> None:
    with pytest.raises(PublishError, match=r"(?s)no tokenizer `qwen3`.*nearest known: qwen2\.5"):
        tokens.load(DATA, "qwen3")


def test_a_wrong_checksum(empty_data: Path) -> None:
    path = empty_data / "tokenizers/qwen2.5/tokenizer.json.xz"
    content = lzma.decompress(path.read_bytes()).replace(b'"Sp"', b'"Sq"')
    path.write_bytes(lzma.compress(content, preset=0))
    with pytest.raises(PublishError) as caught:
        tokens.tokenize("Spliced", store.load(empty_data))
    text = str(caught.value)
    assert text.startswith(f"{path}: this is not the pinned tokenizer")
    assert "expected: sha256 c0382117ea329cdf" in text and "git checkout" in text


def test_a_truncated_file(empty_data: Path) -> None:
    path = empty_data / "tokenizers/qwen2.5/tokenizer.json.xz"
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(PublishError, match="not a whole xz file"):
        tokens.tokenize("Spliced", store.load(empty_data))


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> object:
    """The same file as transformers loads it, as the tokenizer of Qwen2.5."""
    from transformers import AutoTokenizer

    folder = tmp_path_factory.mktemp("tokenizer")
    content = lzma.decompress((ROOT / "site_data/tokenizers/qwen2.5/tokenizer.json.xz").read_bytes())
    (folder / "tokenizer.json").write_bytes(content)
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "Qwen2Tokenizer"}', encoding="utf-8")
    return AutoTokenizer.from_pretrained(folder)


@settings(max_examples=200)
@given(text=any_text)
def test_transformers_gives_the_same_tokens(text: str, reference: object) -> None:
    pieces = tokens.tokenize(text, DATA)
    expected = reference.encode(text, add_special_tokens=False)  # type: ignore[attr-defined]
    assert [id_ for piece in pieces for id_ in piece.ids] == expected
