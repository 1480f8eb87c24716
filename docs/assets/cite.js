/*
 * Buttons that copy and download citations: in the blocks where a reader finds them, and in the popover of each number.
 * Without this file the blocks open all the same, and their texts can be selected and copied.
 *
 * The citations of a page's numbers lie in a file of their own, fetched with the first wish for one. It is a script that
 * sets a value, since a page that was opened as a file can load nothing else.
 */
(() => {
  "use strict";

  const FORMATS = { apa: "text", bibtex: "BibTeX", ris: "RIS", "csl-json": "CSL-JSON" };
  const SHOWN_MS = 2000;

  // ---------------------------------------------------------------- copy, download

  /* Pages without a secure origin have no clipboard of their own; the older way asks for a selection. */
  async function copy(text) {
    if (navigator.clipboard) {
      try {
        return await navigator.clipboard.writeText(text);
      } catch { /* not allowed here: the older way */ }
    }
    const before = document.activeElement;
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "cite-clipboard";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    before?.focus({ preventScroll: true });
    if (!done) throw new Error("the browser does not let a page copy");
  }

  function download(text, name, type) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), SHOWN_MS);
  }

  /** Says for a moment what a button did, to those who listen, too: its name is read again when it changes. */
  function say(button, words) {
    button.dataset.name ??= button.textContent;
    button.textContent = words;
    clearTimeout(button.timer);
    button.timer = setTimeout(() => { button.textContent = button.dataset.name; }, SHOWN_MS);
  }

  function button(name, does, described) {
    const made = document.createElement("button");
    made.type = "button";
    made.className = "cite-button";
    made.textContent = name;
    made.setAttribute("aria-live", "polite");
    if (described) made.title = described;
    made.addEventListener("click", () => does(made));
    return made;
  }

  const copying = (text) => async (pressed) => {
    try {
      await copy(await text());
      say(pressed, "Copied");
    } catch {
      say(pressed, "Not copied");
    }
  };

  // ---------------------------------------------------------------- blocks

  function addButtons(block) {
    if (block.dataset.ready) return;
    block.dataset.ready = "";
    block.querySelectorAll(".cite-format").forEach((each) => {
      const text = each.querySelector(".cite-text").textContent;
      const { file, type, format } = each.dataset;
      const row = document.createElement("span");
      row.className = "cite-buttons";
      row.append(
        button("Copy", copying(() => text), `Copy as ${FORMATS[format]}`),
        button("Download", () => download(text, file, type), `Download as ${FORMATS[format]}`),
      );
      each.insertBefore(row, each.querySelector(".cite-text"));
    });
  }

  document.addEventListener("toggle", ({ target }) => {
    if (target.matches?.("details.cite") && target.open) addButtons(target);
  }, true);

  // ---------------------------------------------------------------- numbers

  const files = new Map();

  /** The citations of the page's numbers by anchor. */
  function citations() {
    const name = document.querySelector(".page-end[data-numbers]")?.dataset.numbers;
    if (!name) return Promise.reject(new Error("no number of this page can be cited"));
    const url = new URL(name, location.href.replace(/[?#].*$/, "")).href;
    if (!files.has(url)) {
      files.set(url, new Promise((resolve, reject) => {
        const script = document.createElement("script");
        script.src = url;
        script.onload = () => { script.remove(); resolve(script.citations); };
        script.onerror = () => { script.remove(); files.delete(url); reject(new Error(url)); };
        document.head.append(script);
      }));
    }
    return files.get(url);
  }

  async function citation(number) {
    const { quantity, alias, run = "" } = number.dataset;
    const found = (await citations())[`n-${quantity}${alias ? `:${alias}` : ""}`];
    /* A page that shows another machine's numbers has no citation of those. */
    if (!found || found.run !== run) throw new Error(`no citation of ${quantity}`);
    return found;
  }

  function offer(wrapper) {
    const number = wrapper.querySelector(":scope > .quantity[data-quantity]");
    const box = wrapper.querySelector(":scope > .provenance");
    if (!number || !box || number.matches(".refused") || box.querySelector(".provenance-cite")) return;
    if (!document.querySelector(".page-end[data-numbers]")) return;
    const row = document.createElement("span");
    row.className = "provenance-cite";
    const text = (format) => async () => (await citation(number))[format];
    row.append(button("Copy citation of this number", async (pressed) => {
      await copying(text("apa"))(pressed);
      if (row.childElementCount > 1) return;
      Object.keys(FORMATS).slice(1).forEach((format) => {
        row.append(button(FORMATS[format], copying(text(format)), `Copy as ${FORMATS[format]}`));
      });
    }));
    box.append(row);
  }

  /* In the capturing phase: before the popover is measured and put in its place. */
  for (const event of ["pointerover", "focusin"]) {
    document.addEventListener(event, ({ target }) => {
      const wrapper = target instanceof Element ? target.closest(".has-provenance") : null;
      if (wrapper) offer(wrapper);
    }, true);
  }

  // ---------------------------------------------------------------- each page

  /* Reference managers look at a page once. After a navigation without a load they must be told to look again. */
  let first = true;
  window.document$?.subscribe(() => {
    document.querySelectorAll("details.cite[open]").forEach(addButtons);
    if (!first) document.dispatchEvent(new Event("ZoteroItemUpdated", { bubbles: true, cancelable: true }));
    first = false;
  });
  document.querySelectorAll("details.cite[open]").forEach(addButtons);
})();
