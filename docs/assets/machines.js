/*
 * The machine switch: shows the figures of another measured machine in the place of the main one's, without a reload.
 * What differs on the page lies in one script a run, which sets a value and is loaded when a reader chooses the run. What
 * was there before is kept and put back. The choice stands in the address (?run=…) and goes with the reader from page to
 * page until the window is closed. Without this file the page speaks of the site's main machine.
 *
 * `spliced-machine` is dispatched on the document after each change, for scripts that read figures from the page.
 */
(() => {
  "use strict";

  const PARAMETER = "run";
  const KEY = "spliced-machine";
  const SLOT = "data-run-slot";
  const SHOWN = "is-elsewhere";
  const ANYWHERE = "shows-elsewhere";

  /* A browser may forbid storage, and addresses of files. The choice then lasts as long as the page. */
  const attempt = (act) => {
    try { return act(); } catch { return null; }
  };
  const remembered = () => attempt(() => sessionStorage.getItem(KEY));
  const remember = (run) => attempt(() => (run ? sessionStorage.setItem(KEY, run) : sessionStorage.removeItem(KEY)));
  const asked = () => new URLSearchParams(location.search).get(PARAMETER);

  function address(run) {
    const url = new URL(location.href);
    if (run) url.searchParams.set(PARAMETER, run);
    else url.searchParams.delete(PARAMETER);
    if (url.href !== location.href) attempt(() => history.replaceState(history.state, "", url));
  }

  function parsed(html) {
    const template = document.createElement("template");
    template.innerHTML = html;
    return template.content;
  }

  /** What lies outside of the page's text makes room for the line that stays in sight. */
  function mark() {
    document.documentElement.classList.toggle(ANYWHERE, Boolean(document.querySelector(`.machine-switch.${SHOWN}`)));
  }

  const count = (number, one, many) => `${number} ${number === 1 ? one : many}`;

  class Switch {
    constructor(element) {
      this.element = element;
      this.select = element.querySelector("select");
      this.status = element.querySelector(".machine-status");
      this.page = element.closest("article") ?? document.body;
      this.main = element.dataset.main;
      this.shown = this.main;
      this.undo = [];
      this.select.addEventListener("change", () => this.choose(this.select.value));
      this.begin();
    }

    get options() {
      return [...this.select.options];
    }

    option(run) {
      return this.options.find(({ value }) => value === run);
    }

    /** What the address asks for comes first, then what was chosen on the page before. */
    async begin() {
      const run = asked() ?? remembered();
      if (!run || run === this.main) return this.settle(asked() ? null : run);
      if (!this.option(run)) {
        if (asked()) this.say(`This page has no figures of the run ${run}. It shows those of the site’s main machine.`);
        return;
      }
      const target = location.hash;
      if (await this.show(run)) {
        this.settle(run);
        /* What was put in may have moved the place that the address names. */
        if (target) document.getElementById(attempt(() => decodeURIComponent(target.slice(1))))?.scrollIntoView();
      }
    }

    async choose(run) {
      if (await this.show(run)) this.settle(run === this.main ? null : run);
    }

    settle(run) {
      remember(run);
      address(run);
    }

    /** Shows the figures of a run; false where they cannot be had, or another choice came meanwhile. */
    async show(run) {
      this.wanted = run;
      let patch = null;
      if (run !== this.main) {
        this.element.setAttribute("aria-busy", "true");
        try {
          patch = await this.load(this.option(run));
        } catch (error) {
          if (this.wanted !== run) return false;
          console.warn("The page stays as it is:", error);
          this.select.value = this.shown;
          this.say("Those figures could not be loaded. The page stays as it is; loading it again may help.");
          return false;
        } finally {
          if (this.wanted === run) this.element.removeAttribute("aria-busy");
        }
        if (this.wanted !== run) return false;
      }
      while (this.undo.length) this.undo.pop()();
      this.shown = run;
      this.select.value = run;
      if (patch) this.apply(patch);
      mark();
      this.tell();
      document.dispatchEvent(new CustomEvent("spliced-machine", { detail: { run, main: this.main } }));
      return true;
    }

    load({ value, dataset }) {
      const name = `${this.element.dataset.page} ${value}`;
      const found = () => window.splicedRuns?.[name];
      const same = () => found()?.edition === dataset.edition;
      if (same()) return Promise.resolve(found());
      return new Promise((resolve, reject) => {
        const script = document.createElement("script");
        script.src = new URL(dataset.src, document.baseURI);
        script.onload = () => {
          script.remove();
          if (same()) resolve(found());
          else reject(new Error(`${script.src} belongs to another edition of this page`));
        };
        script.onerror = () => {
          script.remove();
          reject(new Error(`${script.src} did not load`));
        };
        document.head.append(script);
      });
    }

    apply({ whole, inside, attributes }) {
      const slots = new Map([...this.page.querySelectorAll(`[${SLOT}]`)].map((slot) => [slot.getAttribute(SLOT), slot]));
      const each = (changes, act) => {
        for (const [key, change] of Object.entries(changes)) if (slots.has(key)) act(slots.get(key), change);
      };
      const headings = new Set();
      each(attributes, (slot, values) => {
        for (const [name, value] of Object.entries(values)) {
          const old = slot.getAttribute(name);
          slot.setAttribute(name, value);
          this.undo.push(() => slot.setAttribute(name, old));
        }
      });
      each(inside, (slot, html) => {
        const old = [...slot.childNodes];
        slot.replaceChildren(this.unique(parsed(html), slot));
        slot.classList.add(SHOWN);
        this.undo.push(() => { slot.replaceChildren(...old); slot.classList.remove(SHOWN); });
      });
      each(whole, (slot, html) => {
        const fresh = this.unique(parsed(html), slot).firstElementChild;
        fresh.classList.add(SHOWN);
        slot.replaceWith(fresh);
        this.undo.push(() => fresh.replaceWith(slot));
        const heading = fresh.closest("h1, h2, h3, h4, h5, h6");
        if (heading) headings.add(heading);
      });
      headings.forEach((heading) => this.name(heading));
      this.page.querySelectorAll(".cell-output").forEach((output) => this.note(output));
      this.element.classList.add(SHOWN);
      this.undo.push(() => this.element.classList.remove(SHOWN));
    }

    /** An id that the page has elsewhere stays there. */
    unique(fragment, slot) {
      fragment.querySelectorAll("[id]").forEach((each) => {
        const there = document.getElementById(each.id);
        if (there && !slot.contains(there)) each.removeAttribute("id");
      });
      return fragment;
    }

    /** The table of contents has the figures that stand in headings, too. */
    name(heading) {
      const words = heading.cloneNode(true);
      words.querySelectorAll(".headerlink").forEach((link) => link.remove());
      document.querySelectorAll(`.md-nav__link[href$="#${CSS.escape(heading.id)}"] .md-ellipsis`).forEach((entry) => {
        const old = [...entry.childNodes];
        entry.replaceChildren(words.textContent.trim());
        this.undo.push(() => entry.replaceChildren(...old));
      });
    }

    /** A notebook was executed on the main machine's run. */
    note(output) {
      const note = document.createElement("p");
      note.className = "machine-note";
      note.textContent = `Executed with the run of the site’s main machine: ${this.option(this.main).textContent}.`;
      output.before(note);
      this.undo.push(() => note.remove());
    }

    tell() {
      const name = this.option(this.shown).textContent;
      this.element.querySelector(".machine-name").textContent = name;
      if (this.shown === this.main) return this.say(`This page shows the figures of the site’s main machine again: ${name}.`);
      const parts = [`Marked figures are of ${name}.`];
      const { model } = this.option(this.shown).dataset;
      if (model !== this.element.dataset.model) {
        parts.push(`They are of another model, ${model}. What the text says of ${this.element.dataset.model} by name is still about ${this.element.dataset.model}.`);
      }
      const found = (selector) => this.page.querySelectorAll(`.${SHOWN}${selector}, .${SHOWN} ${selector}`).length;
      const refused = found(".quantity.refused");
      const false_ = this.page.querySelectorAll(".claim-contradicted").length;
      if (refused) parts.push(`${count(refused, "figure is", "figures are")} missing there, with the reason.`);
      if (false_) parts.push(`${count(false_, "sentence does", "sentences do")} not hold there, and ${false_ === 1 ? "says" : "say"} so.`);
      return this.say(parts.join(" "));
    }

    say(text) {
      this.status.textContent = text;
    }
  }

  /* Once for the page as loaded, and again whenever Material replaces the content. From a file its document$ never
     fires, so the first time does not wait for it. */
  const begun = new WeakSet();

  function begin() {
    mark();
    document.querySelectorAll(".machine-switch").forEach((element) => {
      if (begun.has(element)) return;
      begun.add(element);
      new Switch(element);
    });
  }

  begin();
  window.document$?.subscribe(begin);
})();
