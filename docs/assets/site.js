/*
 * What the pages do beyond plain HTML and CSS: the headline that is written token by token, and manners for the
 * provenance popovers (tap, Escape, staying inside the window). Everything readable is in the HTML already; without
 * this file nothing is missing. No request, no eval, no inline script, so a strict Content-Security-Policy may stand.
 *
 * Material replaces the page's content without a full load, and `document$` fires after each such replacement.
 * Listeners therefore sit on `document` once, and only per-page set-up runs again.
 */
(() => {
  "use strict";

  const still = window.matchMedia("(prefers-reduced-motion: reduce)");

  // ---------------------------------------------------------------- headline

  /* Faster than this per token nobody sees single tokens: slow down by a whole factor, and say so. */
  const FASTEST_VISIBLE_S = 0.15;

  let timers = [];

  function stopWriting() {
    timers.forEach(clearTimeout);
    timers = [];
  }

  /** Seconds between two tokens, and the whole-number factor by which that is slowed. */
  function pace(secondsPerToken) {
    const slowdown = Math.max(1, Math.ceil(FASTEST_VISIBLE_S / secondsPerToken));
    return { interval_s: secondsPerToken * slowdown, slowdown };
  }

  /** Shows the headline's tokens one after another. They keep their place meanwhile, so nothing shifts. */
  function write(headline, interval_s) {
    stopWriting();
    const tokens = [...headline.querySelectorAll(".token")];
    headline.classList.remove("is-done");
    headline.classList.add("is-writing");
    tokens.forEach((token) => token.classList.remove("is-written", "is-last"));
    tokens.forEach((token, index) => {
      timers.push(setTimeout(() => {
        if (index > 0) tokens[index - 1].classList.remove("is-last");
        token.classList.add("is-written", "is-last");
        if (index === tokens.length - 1) {
          timers.push(setTimeout(() => {
            token.classList.remove("is-last");
            headline.classList.replace("is-writing", "is-done");
          }, interval_s * 1000));
        }
      }, (index + 1) * interval_s * 1000));
    });
  }

  function setUpHeadline(headline) {
    stopWriting();
    /* The measured value as the build wrote it, e.g. "0.352 s". */
    const secondsPerToken = parseFloat(document.querySelector("[data-seconds-per-token]")?.dataset.secondsPerToken);
    const controls = document.querySelector(".headline-controls");
    if (!(secondsPerToken > 0) || still.matches) {
      headline.classList.add("is-still");
      return;
    }
    const { interval_s, slowdown } = pace(secondsPerToken);
    if (controls) {
      controls.querySelector(".headline-slowdown").textContent =
        slowdown > 1 ? `, slowed ${slowdown} times so that the eye can follow` : "";
      controls.querySelector(".headline-replay").addEventListener("click", () => write(headline, interval_s));
      controls.classList.add("is-ready");
    }
    write(headline, interval_s);
  }

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

  document.addEventListener("click", ({ target }) => {
    const wrapper = wrapperAt(target);
    close(wrapper);
    if (!wrapper || target.closest(".provenance")) return;
    const open = wrapper.classList.toggle("is-open");
    wrapper.classList.toggle("is-dismissed", !open);
    if (open) place(wrapper);
  });

  document.addEventListener("keydown", (event) => {
    const wrapper = wrapperAt(event.target);
    if (event.key === "Escape") {
      close(null);
      document.querySelectorAll(`${WRAPPER}:is(:hover, :focus-within)`).forEach((each) => each.classList.add("is-dismissed"));
    } else if ((event.key === "Enter" || event.key === " ") && wrapper) {
      event.preventDefault();
      event.target.click();
    }
  });

  // ---------------------------------------------------------------- each page

  /* Once for the page as loaded, and again whenever Material replaces the content. From a file its document$ never
     fires, so the first time does not wait for it. */
  const begun = new WeakSet();

  function begin() {
    const headline = document.querySelector(".headline");
    if (!headline) stopWriting();
    else if (!begun.has(headline)) {
      begun.add(headline);
      setUpHeadline(headline);
    }
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
  else begin();
  window.document$?.subscribe(begin);
})();
