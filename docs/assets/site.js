/*
 * What the pages do beyond plain HTML and CSS: the headline that is written token by token, and manners for the
 * provenance popovers (tap, Escape, staying inside the window). Everything readable is in the HTML already; without
 * this file nothing is missing. No request, no eval, no inline script, so a strict Content-Security-Policy may stand.
 *
 * Material replaces the page's content without a full load; `document$` fires after the first load and after each such
 * replacement. Listeners therefore sit on `document` once, and only per-page set-up runs again.
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
    headline.classList.add("is-writing");
    tokens.forEach((token) => token.classList.remove("is-written", "is-last"));
    tokens.forEach((token, index) => {
      timers.push(setTimeout(() => {
        if (index > 0) tokens[index - 1].classList.remove("is-last");
        token.classList.add("is-written", "is-last");
        if (index === tokens.length - 1) {
          timers.push(setTimeout(() => {
            token.classList.remove("is-last");
            headline.classList.remove("is-writing");
          }, interval_s * 1000));
        }
      }, (index + 1) * interval_s * 1000));
    });
  }

  function setUpHeadline() {
    stopWriting();
    const headline = document.querySelector(".headline");
    if (!headline) return;
    const quantity = document.querySelector(".headline-pace .quantity[data-value]");
    const secondsPerToken = quantity ? Number(quantity.dataset.value) : NaN;
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

  const NUMBER = ".quantity, .cited, .model-fact, .claim";
  const MARGIN_PX = 8;

  const popoverOf = (number) => {
    const sibling = number.nextElementSibling;
    return sibling && sibling.classList.contains("provenance") ? sibling : null;
  };

  /** Moves a popover sideways so that it stays inside the window, and above the number where there is no room below. */
  function place(number) {
    const popover = popoverOf(number);
    if (!popover) return;
    popover.style.removeProperty("--shift");
    popover.classList.remove("is-above");
    const box = popover.getBoundingClientRect();
    const width = document.documentElement.clientWidth;
    let shift = 0;
    if (box.right > width - MARGIN_PX) shift = width - MARGIN_PX - box.right;
    if (box.left + shift < MARGIN_PX) shift = MARGIN_PX - box.left;
    popover.style.setProperty("--shift", `${Math.round(shift)}px`);
    const above = number.getBoundingClientRect().top;
    popover.classList.toggle("is-above", box.bottom > window.innerHeight && above > box.height + MARGIN_PX);
  }

  function close(except) {
    document.querySelectorAll(".is-open").forEach((number) => {
      if (number === except) return;
      number.classList.remove("is-open");
      number.removeAttribute("aria-expanded");
    });
  }

  function numberAt(target) {
    return target instanceof Element ? target.closest(NUMBER) : null;
  }

  for (const event of ["pointerover", "focusin"]) {
    document.addEventListener(event, ({ target }) => {
      const number = numberAt(target);
      if (number) {
        number.classList.remove("is-dismissed");
        place(number);
      }
    });
  }
  for (const event of ["pointerout", "focusout"]) {
    document.addEventListener(event, ({ target }) => numberAt(target)?.classList.remove("is-dismissed"));
  }

  document.addEventListener("click", ({ target }) => {
    if (target instanceof Element && target.closest(".provenance")) return;
    const number = numberAt(target);
    close(number);
    if (!number || !popoverOf(number)) return;
    const open = number.classList.toggle("is-open");
    number.classList.toggle("is-dismissed", !open);
    place(number);
  });

  document.addEventListener("keydown", (event) => {
    const { key, target } = event;
    const number = numberAt(target);
    if (key === "Escape") {
      close(null);
      document.querySelectorAll(`:is(${NUMBER}):is(:hover, :focus)`).forEach((each) => each.classList.add("is-dismissed"));
    } else if ((key === "Enter" || key === " ") && number && number === target && popoverOf(number)) {
      event.preventDefault();
      number.click();
    }
  });

  // ---------------------------------------------------------------- each page

  /* Material defines document$ before this file runs; without Material a plain page still gets its set-up. */
  if (window.document$) window.document$.subscribe(setUpHeadline);
  else if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", setUpHeadline);
  else setUpHeadline();
})();
