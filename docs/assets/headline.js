/*
 * The headline that is written token by token, at the measured pace. Its tokens are in the HTML already; without this
 * file, and where a reader wants less motion, they are there from the start.
 */
(() => {
  "use strict";

  const still = window.matchMedia("(prefers-reduced-motion: reduce)");

  /* Faster than this per token nobody sees single tokens, and slower than that nobody waits: the pace is changed by a
     whole factor then, and the page says so. */
  const FASTEST_VISIBLE_S = 0.15;
  const SLOWEST_PATIENT_S = 1.5;

  let timers = [];

  function stop() {
    timers.forEach(clearTimeout);
    timers = [];
  }

  /** Seconds between two tokens, and in words how that differs from the measured pace. */
  function pace(secondsPerToken) {
    const slowed = Math.ceil(FASTEST_VISIBLE_S / secondsPerToken);
    if (slowed > 1) return { interval_s: secondsPerToken * slowed, words: `, slowed ${slowed} times so that the eye can follow` };
    const sped = Math.ceil(secondsPerToken / SLOWEST_PATIENT_S);
    if (sped > 1) return { interval_s: secondsPerToken / sped, words: `, sped up ${sped} times so that nobody has to wait` };
    return { interval_s: secondsPerToken, words: "" };
  }

  /** Shows the headline's tokens one after another. They keep their place meanwhile, so nothing shifts. */
  function write(headline, interval_s) {
    stop();
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

  /** The measured value as the page has it now: the build wrote it, e.g. "0.352 s", and the machine switch changes it. */
  const measured = () => parseFloat(document.querySelector("[data-seconds-per-token]")?.dataset.secondsPerToken);

  /* The measured value as the build wrote it, e.g. "0.352 s"; that of another machine where a reader chose one. */
  const measured_s = () => parseFloat(document.querySelector("[data-seconds-per-token]")?.dataset.secondsPerToken);

  function setUp(headline) {
    const controls = document.querySelector(".headline-controls");
    if (!controls || !(measured_s() > 0) || still.matches) {
      headline.classList.add("is-still");
      return;
    }
    const begin = () => {
      const { interval_s, words } = pace(measured_s());
      controls.querySelector(".headline-pace-change").textContent = words;
      write(headline, interval_s);
    };
    controls.querySelector(".headline-replay").addEventListener("click", begin);
    controls.classList.add("is-ready");
    begin();
  }

  /* Once for the page as loaded, and again whenever Material replaces the content. From a file its document$ never
     fires, so the first time does not wait for it. */
  const begun = new WeakSet();

  function begin() {
    const headline = document.querySelector(".headline");
    if (headline && begun.has(headline)) return;
    stop();
    if (!headline) return;
    begun.add(headline);
    setUp(headline);
  }

  begin();
  window.document$?.subscribe(begin);
})();
