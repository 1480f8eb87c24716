/*
 * The reader's own text in tokens. Loaded by the pages that have the element `.own-text`, once for each visit; the
 * tokenizer itself, which is large, only when the reader presses its button. It comes as a script that sets a value and
 * not by a request for data, so that it works from a file, too. What is typed goes nowhere.
 */
(() => {
  "use strict";

  const MOST_SHOWN = 2000;     // pieces; more would make the page slow, and nobody reads them
  const LONG = 20000;          // characters from which on a text is cut only when the typing pauses
  const PAUSE_MS = 250;

  const number = (value) => String(value).replace(/\B(?=(\d{3})+$)/g, ",");
  const plural = (value, noun) => `${number(value)} ${noun}${value === 1 ? "" : "s"}`;

  /** Cutters by the tokenizer's name; kept while the reader goes from page to page. */
  const ready = globalThis.splicedCutters ??= {};

  function load(name, address) {
    if (globalThis.splicedTokenizers?.[name]) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = address;
      script.addEventListener("load", resolve);
      script.addEventListener("error", () => {
        script.remove();
        reject(new Error(`${address} could not be loaded`));
      });
      document.head.append(script);
    });
  }

  /** Resolves once the browser has painted what was said last. */
  const painted = () => new Promise((resolve) => { requestAnimationFrame(() => setTimeout(resolve)); });

  function element(tag, attributes, ...content) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...content);
    return made;
  }

  /** One piece. A line feed in it is shown by a sign, and breaks the line after the piece. */
  function shown([text, ids]) {
    const parts = text.split("\n").flatMap((part, index) =>
      index ? [element("span", { class: "own-text-break" }, "\n"), part] : [part]);
    const token = element("span", { class: "token", "data-token-id": ids.join(" "), tabindex: "-1" }, ...parts);
    return text.includes("\n") ? [token, document.createElement("br")] : [token];
  }

  class OwnText {
    constructor(root) {
      this.root = root;
      this.name = root.dataset.tokenizer;
      this.field = root.querySelector("textarea");
      this.button = root.querySelector(".own-text-load button");
      this.tokens = root.querySelector(".tokens");
      this.status = root.querySelector(".own-text-status");
      this.example = this.field.value;
      this.timer = 0;
      this.button.addEventListener("click", () => this.start());
      this.field.addEventListener("input", () => this.typed());
      this.tokens.addEventListener("keydown", (event) => this.move(event));
      root.classList.add("is-ready");
      this.oneTabStop();
      if (ready[this.name]) this.begin();
    }

    async start() {
      if (this.button.getAttribute("aria-disabled")) return;
      this.button.setAttribute("aria-disabled", "true");
      this.status.textContent = "Loading the tokenizer …";
      await painted();
      try {
        await load(this.name, this.root.dataset.cutter);
        ready[this.name] ??= globalThis.splicedTokenizers[this.name]();
      } catch (error) {
        this.button.removeAttribute("aria-disabled");
        this.status.textContent = "The tokenizer could not be loaded. Press the button to try again.";
        console.warn(error);
        return;
      }
      this.begin();
      this.field.focus();
    }

    begin() {
      this.cut = ready[this.name];
      this.root.classList.add("is-loaded");
      this.show();
    }

    typed() {
      if (!this.cut) {
        this.root.classList.add("is-behind");
        this.status.textContent = "These are the tokens of the example. Load the tokenizer to see those of your text.";
        return;
      }
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.show(), this.field.value.length > LONG ? PAUSE_MS : 0);
    }

    show() {
      const text = this.field.value;
      const half = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.exec(text);
      this.root.classList.toggle("is-behind", Boolean(half));
      if (half) {
        this.status.textContent = "The text holds half a character, which has no tokens.";
        return;
      }
      const pieces = this.cut(text);
      this.tokens.replaceChildren(...pieces.slice(0, MOST_SHOWN).flatMap(shown));
      this.oneTabStop();
      const tokens = pieces.reduce((sum, [, ids]) => sum + ids.length, 0);
      const more = pieces.length > MOST_SHOWN ? `. The first ${number(MOST_SHOWN)} pieces are shown` : "";
      const composed = text.normalize("NFC") === text ? "" : ". Marks were put together with their letters first";
      this.status.textContent =
        `${plural(tokens, "token")} for ${plural([...text].length, "character")}${composed}${more}`;
    }

    /** One stop of the Tab key for all tokens; arrows go from one to the next. */
    oneTabStop() {
      this.tokens.querySelectorAll(".token").forEach((token, index) => { token.tabIndex = index ? -1 : 0; });
    }

    move(event) {
      const all = [...this.tokens.querySelectorAll(".token")];
      const at = all.indexOf(event.target);
      const onward = getComputedStyle(this.tokens).direction === "rtl" ? -1 : 1;
      const to = { ArrowRight: at + onward, ArrowLeft: at - onward, Home: 0, End: all.length - 1 }[event.key];
      if (at < 0 || to === undefined || !all[to]) return;
      event.preventDefault();
      all[at].tabIndex = -1;
      all[to].tabIndex = 0;
      all[to].focus();
    }
  }

  document.querySelectorAll(".own-text[data-cutter]:not(.is-ready)").forEach((root) => new OwnText(root));
})();
