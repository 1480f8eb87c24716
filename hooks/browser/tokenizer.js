/*
 * Text cut into tokens in a browser, as hooks/tokens.py cuts it at build. The build puts this file, the library and the
 * tokenizer into one script (hooks/browser_tokenizer.py); this file knows no page.
 *
 * A browser knows other versions of Unicode than the build does: newer letters, newer marks. So what the tokenizer takes
 * for a letter, a digit and a character that normalisation touches comes from the build, as lists of characters.
 */

/**
 * @param library What @huggingface/tokenizers exports.
 * @param data The tokenizer without what can be told from it: `entries` in the order of their ids, `cuts` that say where
 *   each merged entry was put together, `touched` for the characters that normalisation changes or moves, and the rest.
 * @returns A function from a text to its pieces, pairs of a text and the ids in it; their texts joined are the text.
 */
function cutter(library, data) {
  const entries = data.entries.split("\n");
  const merged = entries.length - data.cuts.length;
  const vocab = Object.create(null);  // one entry could be called __proto__
  entries.forEach((entry, id) => { vocab[entry] = id; });
  const merges = Array.from(data.cuts, (cut, index) => {
    const entry = entries[merged + index];
    const length = cut.charCodeAt(0) - data.zero;
    return [entry.slice(0, length), entry.slice(length)];
  });
  const { model, ...rest } = data.rest;
  const tokenizer = new library.Tokenizer({ ...rest, normalizer: null, model: { ...model, vocab, merges } }, {});
  const touched = data.touched && new RegExp(`[${data.touched}]+`, "gu");
  /* Composing runs of these characters alone gives the build's result in every later version of Unicode, too. */
  const normalise = (text) => touched ? text.replace(touched, (run) => run.normalize("NFC")) : text;
  tokenizer.normalizer = normalise;

  const added = new Set(rest.added_tokens.map((token) => token.content));
  const encoder = new TextEncoder();
  const bytesOf = (text) => /^[\0-\x7f]*$/.test(text) ? text.length : encoder.encode(text).length;
  const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });

  /** Bytes of text[begin:end] once it is normalised, as the tokenizer does it: never across one of its added tokens. */
  function bytesBetween(text, begin, end, cuts) {
    let bytes = 0;
    for (const cut of cuts.filter((at) => at > begin && at < end)) {
      bytes += bytesOf(normalise(text.slice(begin, cut)));
      begin = cut;
    }
    return bytes + bytesOf(normalise(text.slice(begin, end)));
  }

  return (text) => {
    if (text === "") return [];
    const { ids, tokens } = tokenizer.encode(text, { add_special_tokens: false });
    const reached = new Map();  // bytes of the normalised text → tokens that end there
    let bytes = 0;
    tokens.forEach((token, index) => {
      bytes += added.has(token) ? bytesOf(token) : token.length;  // a letter of any other entry stands for one byte
      reached.set(bytes, index + 1);
    });
    const cuts = [];
    let at = 0;
    for (const section of tokenizer.splitter_unnormalized.split(text)) cuts.push(at += section.length);

    const pieces = [];
    let [begin, first] = [0, 0];
    bytes = 0;
    for (const { segment, index } of segmenter.segment(text)) {
      const end = index + segment.length;
      bytes += bytesBetween(text, index, end, cuts);
      const next = reached.get(bytes);
      if (next === undefined) continue;
      pieces.push([text.slice(begin, end), ids.slice(first, next)]);
      [begin, first] = [end, next];
    }
    return pieces;
  };
}
