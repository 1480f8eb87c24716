/*
 * What every page does beyond plain HTML and CSS: manners for the provenance popovers (tap, Escape, staying inside the
 * window), the button for the palettes, names and keys for what the theme adds, and the scripts that only some pages need.
 * Everything readable is in the HTML already; without this file nothing is missing. No eval, no inline script, so a
 * strict Content-Security-Policy may stand.
 *
 * Material replaces the page's content without a full load, and `document$` fires after each such replacement.
 * Listeners therefore sit on `document` once, and only per-page set-up runs again.
 */
(() => {
  "use strict";

  // ---------------------------------------------------------------- popovers

  /* A number and its popover, in one wrapper. CSS alone opens it on hover and focus; this adds `is-open` (by tap) and
     `is-dismissed` (by Escape or a second tap), and moves a popover that would leave the window. */
  const WRAPPER = ".has-provenance";
  const MARGIN_PX = 8;

  const wrapperAt = (target) => (target instanceof Element ? target.closest(WRAPPER) : null);

  function place(wrapper) {
    const popover = wrapper.querySelector(":scope > .provenance");
    popover.classList.remove("is-above");
    popover.style.removeProperty("--shift");
    popover.style.removeProperty("--room");
    const box = popover.getBoundingClientRect();
    const number = wrapper.getBoundingClientRect();
    const { clientWidth: width, clientHeight: height } = document.documentElement;
    const above = number.top - (document.querySelector(".md-header")?.offsetHeight ?? 0) - MARGIN_PX;
    const below = height - number.bottom - MARGIN_PX;
    const fitsBelow = box.height + MARGIN_PX < below;
    popover.classList.toggle("is-above", !fitsBelow && above > below);
    popover.style.setProperty("--room", `${Math.round(Math.max(above, below, 0) - MARGIN_PX)}px`);
    const shift = Math.max(MARGIN_PX - box.left, Math.min(0, width - MARGIN_PX - box.right));
    popover.style.setProperty("--shift", `${Math.round(shift)}px`);
  }

  function close(except) {
    document.querySelectorAll(`${WRAPPER}.is-open`).forEach((wrapper) => {
      if (wrapper !== except) wrapper.classList.remove("is-open");
    });
  }

  for (const event of ["pointerover", "focusin"]) {
    document.addEventListener(event, ({ target, relatedTarget }) => {
      const wrapper = wrapperAt(target);
      if (!wrapper || wrapper.contains(relatedTarget)) return;
      wrapper.classList.remove("is-dismissed");
      place(wrapper);
    });
  }

  function toggle(wrapper) {
    close(wrapper);
    const open = wrapper.classList.toggle("is-open");
    wrapper.classList.toggle("is-dismissed", !open);
    if (open) place(wrapper);
  }

  document.addEventListener("click", ({ target }) => {
    const wrapper = wrapperAt(target);
    if (wrapper && !target.closest(".provenance, .term")) toggle(wrapper);
    else close(wrapper);
  });

  /* A term is a link to the glossary, and explains itself to a pointer that rests on it. A finger cannot rest: its tap
     explains, as that on a number does. Caught before Material, which would follow the link. */
  const finger = window.matchMedia("(hover: none)");
  document.addEventListener("click", (event) => {
    const term = event.target instanceof Element && event.target.closest(".term");
    if (!term || !finger.matches) return;
    event.preventDefault();
    event.stopPropagation();
    toggle(wrapperAt(term));
  }, true);

  document.addEventListener("keydown", (event) => {
    const wrapper = wrapperAt(event.target);
    if (event.key === "Escape") {
      close(null);
      document.querySelectorAll(`${WRAPPER}:is(:hover, :focus-within)`).forEach((each) => each.classList.add("is-dismissed"));
    } else if ((event.key === "Enter" || event.key === " ") && wrapper && !event.target.closest("a")) {
      event.preventDefault();
      event.target.click();
    }
  });

  // ---------------------------------------------------------------- palettes

  /* The style sheet follows the system until a reader presses the button. What was chosen is on the document's element,
     where the head of each page puts it before anything is painted. */
  const html = document.documentElement;
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const palette = () => html.dataset.palette || (system.matches ? "dark" : "light");

  /* What a browser colours its own frame with. */
  const frame = document.head.appendChild(document.createElement("meta"));
  frame.name = "theme-color";

  function say() {
    const button = document.querySelector(".palette");
    button.hidden = false;
    button.setAttribute("aria-pressed", palette() === "dark");
    frame.content = getComputedStyle(document.body).backgroundColor;
  }

  system.addEventListener("change", say);
  say();
  document.addEventListener("click", ({ target }) => {
    if (!(target instanceof Element && target.closest(".palette"))) return;
    /* The theme lets no colour fade while this is set. */
    document.body.dataset.mdColorSwitching = "";
    html.dataset.palette = palette() === "dark" ? "light" : "dark";
    say();
    requestAnimationFrame(() => requestAnimationFrame(() => delete document.body.dataset.mdColorSwitching));
    try {
      localStorage.setItem("spliced-inference.palette", html.dataset.palette);
    } catch {
      /* Kept for this page alone, where a browser keeps nothing. */
    }
  });

  // ---------------------------------------------------------------- each page

  /* A part of a page that needs a script of its own names it, from the site's root: data-script="assets/replay.js". Each
     is loaded once, where it is first wanted, and follows document$ by itself from then on. */
  const root = new URL("..", document.currentScript.src);
  const wanted = new Set();

  function load(path) {
    if (wanted.has(path)) return;
    wanted.add(path);
    const script = document.createElement("script");
    script.src = new URL(path, root);
    document.head.append(script);
  }

  /* The theme puts the button that copies code into a landmark, once it has seen the code. Two of them need names. */
  function name() {
    document.querySelectorAll("nav.md-code__nav:not([aria-label])").forEach((nav) => {
      const count = document.querySelectorAll("nav.md-code__nav[aria-label]").length;
      nav.setAttribute("aria-label", `Code ${count + 1}`);
    });
  }

  /* What scrolls sideways is reached by the keyboard, where nothing in it is. Not every browser sees to that by itself. */
  const SCROLLS = ".md-typeset__scrollwrap, .cell-output, .data-scroll, .calculator-scroll, figure.chart details, table.numbers";
  const INSIDE = ":is(a[href], button, input, select, summary, [tabindex]):not(:scope)";

  const widths = new ResizeObserver((changed) => {
    for (const { target } of changed) {
      if (target.scrollWidth <= target.clientWidth) target.removeAttribute("tabindex");
      else if (!target.querySelector(INSIDE)) target.tabIndex = 0;
    }
  });

  function mend() {
    name();
    document.querySelectorAll(SCROLLS).forEach((element) => widths.observe(element));
  }

  /* The theme puts what scrolls around tables, once it has seen them. */
  const mending = new MutationObserver(mend);

  function begin() {
    mending.disconnect();
    widths.disconnect();
    mend();
    const article = document.querySelector(".md-content article");
    if (article?.querySelector("pre, table")) mending.observe(article, { childList: true, subtree: true });
    document.querySelectorAll("[data-script]").forEach(({ dataset }) => load(dataset.script));
    /* An address that carries a version: what the number was then stands beside it. */
    if (location.search.includes("published=")) load("assets/cited-then.js");
  }

  /* Once for the page as loaded, and again whenever Material replaces the content. From a file its document$ never
     fires, so the first time does not wait for it. */
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
  else begin();
  window.document$?.subscribe(begin);
})();
