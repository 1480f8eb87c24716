/*
 * What a number was when it was cited, beside what it is now. site.js loads this where an address carries a version, as in
 * page.html?published=2026-01-31.1#n-ID, and only there. The history comes from data/ledger/ID.js, a script that sets a
 * value, so that it can be loaded from a file, too. Without JavaScript the address leads to the number all the same.
 */
(() => {
  "use strict";

  const root = new URL("..", document.currentScript.src);
  const MONTHS = "January February March April May June July August September October November December".split(" ");

  const sheet = document.createElement("link");
  sheet.rel = "stylesheet";
  sheet.href = new URL("assets/cited-then.css", root);
  document.head.append(sheet);

  /** What the address asks for: a version, and the anchor of a number. */
  function wanted() {
    const version = new URLSearchParams(location.search).get("published") ?? "";
    let anchor = "";
    try {
      anchor = decodeURIComponent(location.hash.slice(1));
    } catch {
      /* not an anchor of ours */
    }
    const [, id, alias = ""] = anchor.match(/^n-([\w.-]+)(?::([\w.-]+))?$/) ?? [];
    return /^\d{4}-\d\d-\d\d\.\d{1,6}$/.test(version) && id ? { version, anchor, id, alias } : null;
  }

  /** 30 November 2026, from a version of that day. */
  function day(version) {
    const [year, month, date] = version.split(".")[0].split("-").map(Number);
    return `${date} ${MONTHS[month - 1]} ${year}`;
  }

  /** Below zero, zero or above it, as the first version is earlier than the second, the same, or later. */
  function compare(one, other) {
    const [date, count] = one.split(".");
    const [otherDate, otherCount] = other.split(".");
    return date === otherDate ? count - otherCount : date < otherDate ? -1 : 1;
  }

  /** The number's entries at a version: one, or several where two branches published under the same. */
  function at({ entries, others }, version) {
    if (others[version]) return others[version].map((index) => entries[index]);
    const before = entries.filter(([of]) => compare(of, version) <= 0);
    return before.filter(([of]) => of === before.at(-1)[0]);
  }

  /** What to say of the number, in one sentence. */
  function sentence(history, { version, alias }) {
    const number = history?.numbers[alias];
    if (!number) return "Nothing is known here of this number as it was published.";
    if (compare(version, history.latest) > 0) return `Version ${version} is not known here; the last is ${history.latest}.`;
    const was = at(number, version);
    if (!was.length) return `First published on ${day(number.entries[0][0])}, after version ${version}.`;
    const texts = [...new Set(was.map(([, text]) => text))];
    const cited = `cited as ${texts.join(" or ")} on ${day(version)}`;
    if (history.retired) return `${cited}; retired since: ${history.retired}`;
    if (!number.now) return `${cited}; not stated any more`;
    const [now, run, published] = number.now;
    const later = published ? "" : " (not yet published)";
    if (texts.length > 1 || texts[0] !== now) return `${cited}; now ${now}${later}`;
    const same = number.entries.filter(([of]) => compare(of, version) > 0).length === 0 && published;
    if (same) return `unchanged since ${day(version)}`;
    return was[0][2] === run ? `${cited}; still so` : `${cited}; still so, in a later run${later}`;
  }

  function element(name, text, attributes) {
    const made = Object.assign(document.createElement(name), attributes);
    made.textContent = text;
    return made;
  }

  /** Puts the sentence beside the number; at the head of a page that no longer states it. */
  function show(history, asked) {
    document.querySelectorAll(".cited-then").forEach((old) => old.remove());
    const target = document.getElementById(asked.anchor);
    const number = target?.matches(".quantity, .data-value") ? target : target?.parentElement.querySelector(".quantity");
    const note = element("span", sentence(history, asked), { className: "cited-then", role: "note" });
    if (number) {
      /* The fragment gives the number the focus, and so opens its popover, which would cover the note. */
      const wrapper = number.closest(".has-provenance");
      wrapper?.classList.add("is-dismissed");
      (wrapper ?? number).after(note);
      note.scrollIntoView({ block: "nearest" });
      return;
    }
    note.prepend(element("code", asked.id), " is not on this page any more: ");
    if (history) {
      note.append(". ", element("a", "Its own page", { href: new URL(`data/quantities/${history.id}.html`, root) }), " has its history.");
    }
    const block = element("p", "", { className: "cited-then" });
    block.append(note);
    document.querySelector("article h1, main h1")?.after(block);
  }

  /* What was asked for last, and on which content: Material replaces that, and says so after it had been told already. */
  let last = null;

  function begin() {
    const asked = { ...wanted(), place: document.querySelector("article, main") };
    if (last && ["version", "anchor", "place"].every((key) => last[key] === asked[key])) return;
    last = asked;
    if (!asked.id) return;
    const script = document.createElement("script");
    script.src = new URL(`data/ledger/${asked.id}.js`, root);
    const end = () => {
      if (last === asked) show(script.history, asked);
      script.remove();
    };
    script.addEventListener("load", end);
    script.addEventListener("error", end);
    document.head.append(script);
  }

  window.addEventListener("hashchange", begin);
  begin();
  window.document$?.subscribe(begin);
})();
