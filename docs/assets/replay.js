/*
 * The replay: writes one text in several lanes, each at the speed that was measured. It starts when asked, can be paused
 * and begun again, and stands still when its page is left or hidden. The times come with the HTML; so does the text, which
 * keeps its place while it is written, so that nothing shifts. What happens is said in words, too, once for each event.
 */
(() => {
  "use strict";

  const seconds = (value) => `${value.toFixed(1)} s`;

  class Lane {
    constructor(element) {
      this.name = element.dataset.name;
      this.first_s = Number(element.dataset.firstS);
      this.whole_s = Number(element.dataset.wholeS);
      this.reads = Number(element.dataset.promptTokens) > 1;
      this.state = element.querySelector(".replay-state");
      this.atRest = this.state.textContent;
      this.progress = element.querySelector("progress");
      this.element = element;
      this.pieces = [...element.querySelectorAll(".token")];
      /* A piece is there when the last of its tokens is: a character may take several. */
      const counts = this.pieces.map((piece) => piece.dataset.tokenId.split(" ").length);
      const total = counts.reduce((sum, count) => sum + count, 0);
      const step_s = total > 1 ? (this.whole_s - this.first_s) / (total - 1) : 0;
      let written = 0;
      this.due_s = counts.map((count) => this.first_s + ((written += count) - 1) * step_s);
    }

    /** Shows the lane as it is after that time; returns what is worth saying. */
    show(time_s) {
      const before = this.pieces.filter((piece) => piece.classList.contains("is-written")).length;
      const now = this.due_s.filter((due) => due <= time_s).length;
      const done = now === this.pieces.length;
      this.pieces.forEach((piece, index) => {
        piece.classList.toggle("is-written", index < now);
        piece.classList.toggle("is-last", index === now - 1 && !done);
      });
      this.element.classList.toggle("is-reading", now === 0);
      this.progress.value = now === 0 ? time_s / this.first_s : Math.min(1, time_s / this.whole_s);
      if (done) this.state.textContent = `done after ${seconds(this.whole_s)}`;
      else if (now === 0 && this.reads) this.state.textContent = `reads the prompt: ${seconds(time_s)} of ${seconds(this.first_s)}`;
      else this.state.textContent = `writes: ${now} of ${this.pieces.length}`;
      if (done && before < this.pieces.length) return `${this.name}: done after ${seconds(this.whole_s)}.`;
      return now > 0 && before === 0 ? `${this.name}: begins to write after ${seconds(this.first_s)}.` : "";
    }

    rest() {
      this.pieces.forEach((piece) => piece.classList.remove("is-written", "is-last"));
      this.element.classList.remove("is-reading");
      this.progress.value = 1;
      this.state.textContent = this.atRest;
    }
  }

  class Replay {
    constructor(element) {
      this.element = element;
      this.lanes = [...element.querySelectorAll(".replay-lane")].map((lane) => new Lane(lane));
      this.end_s = Math.max(...this.lanes.map((lane) => lane.whole_s));
      this.startButton = element.querySelector(".replay-start");
      this.againButton = element.querySelector(".replay-again");
      this.clock = element.querySelector(".replay-clock");
      this.said = element.querySelector(".replay-said");
      this.time_s = 0;
      this.startButton.addEventListener("click", () => (this.last ? this.pause() : this.start()));
      this.againButton.addEventListener("click", () => this.again());
      element.querySelector(".replay-cuts input").addEventListener("change", ({ target }) => {
        element.classList.toggle("shows-tokens", target.checked);
      });
      const left = new AbortController();
      document.addEventListener("visibilitychange", () => {
        if (!element.isConnected) left.abort();
        else if (document.hidden && this.last) this.pause();
      }, { signal: left.signal });
      element.classList.add("is-ready");
    }

    start() {
      if (this.time_s >= this.end_s) this.time_s = 0;
      this.element.classList.add("is-writing");
      this.againButton.disabled = false;
      this.startButton.textContent = "Pause";
      this.last = performance.now();
      this.show();
      this.frame = requestAnimationFrame(() => this.tick());
    }

    pause() {
      cancelAnimationFrame(this.frame);
      this.last = undefined;
      this.startButton.textContent = this.time_s < this.end_s ? "Go on" : "Start";
    }

    again() {
      this.pause();
      this.time_s = 0;
      this.lanes.forEach((lane) => lane.rest());
      this.start();
    }

    tick() {
      if (!this.element.isConnected) return;
      const now = performance.now();
      this.time_s = Math.min(this.end_s, this.time_s + (now - this.last) / 1000);
      this.last = now;
      this.show();
      if (this.time_s < this.end_s) this.frame = requestAnimationFrame(() => this.tick());
      else {
        this.pause();
        this.element.classList.remove("is-writing");
      }
    }

    show() {
      this.clock.textContent = seconds(this.time_s);
      const news = this.lanes.map((lane) => lane.show(this.time_s)).filter(Boolean);
      if (news.length) this.said.textContent = news.join(" ");
    }
  }

  const begun = new WeakSet();

  function begin() {
    document.querySelectorAll(".replay").forEach((element) => {
      if (begun.has(element) || !element.querySelector(".replay-lane")) return;
      begun.add(element);
      new Replay(element);
    });
  }

  begin();
  window.document$?.subscribe(begin);
  document.addEventListener("spliced-machine", begin);  // another machine's replay stands in the place of this one
})();
