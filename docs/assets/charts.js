/*
 * Charts that answer: points tell their numbers, axes zoom. Loaded on every page, it is small; the charts' own documents
 * and Vega come only when a reader wants them: by the button Explore, or by resting a mouse on a picture, unless the
 * browser asks to save data. The static picture stays in its place and keeps its size, so nothing on the page moves; it
 * is what prints, and what is there from a file, where nothing can be fetched.
 *
 * Material replaces the page's content without a full load: listeners sit on `document`, and what belongs to a figure
 * that is gone is let go.
 */
(() => {
  "use strict";

  /** The site's root: charts.js lies in assets/. */
  const root = new URL("..", document.currentScript.src);

  if (location.protocol === "file:") {
    document.documentElement.classList.add("charts-stay-still");
    return;
  }

  const REST_MS = 250;   // a mouse rests so long on a picture before it answers
  const REACH_PX = 45;   // how far from a point one may point and still mean it
  const STEP = 1.6;      // what one press of a button magnifies by
  const MOST = 40;       // the largest magnification

  const mouse = window.matchMedia("(hover: hover) and (pointer: fine)");
  const frugal = () => {
    const { saveData, effectiveType = "" } = navigator.connection ?? {};
    return Boolean(saveData) || effectiveType.endsWith("2g");
  };

  /** Figure → what makes it answer. */
  const live = new Map();

  const figureOf = (target) => target instanceof Element ? target.closest("figure.chart[data-explore]") : null;

  // ---------------------------------------------------------------- loading

  let vega;

  async function load(figure) {
    vega ??= import(new URL(figure.dataset.vega, root)).then(() => globalThis.splicedVega);
    const address = new URL(figure.dataset.explore, document.baseURI);
    const fetched = fetch(address).then((answer) => {
      if (!answer.ok) throw new Error(`${answer.status} for ${address}`);
      return answer.json();
    });
    try {
      return await Promise.all([vega, fetched]);
    } catch (error) {
      vega = undefined;
      throw error;
    }
  }

  async function start(figure, focus) {
    if (live.has(figure)) return;
    live.set(figure, null);
    const button = figure.querySelector(".chart-explore");
    button.setAttribute("aria-busy", "true");
    try {
      const [library, document_] = await load(figure);
      if (!figure.isConnected || !live.has(figure)) return;
      const chart = new Explored(figure, library, document_);
      live.set(figure, chart);
      if (focus) chart.host.focus({ preventScroll: true });
    } catch (error) {
      live.delete(figure);
      button.textContent = "Explore (could not be loaded, try again)";
      console.warn("The chart stays as it is:", error);
    } finally {
      button.removeAttribute("aria-busy");
    }
  }

  function stop(figure) {
    live.get(figure)?.remove();
    live.delete(figure);
  }

  // ---------------------------------------------------------------- a chart that answers

  const HELP = "Left and right arrows go from point to point, up and down to another line. Plus and minus zoom, 0 shows all.";

  function element(tag, attributes, ...content) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...content);
    return made;
  }

  class Explored {
    constructor(figure, library, document_) {
      this.figure = figure;
      this.library = library;
      this.document = document_;
      this.picture = figure.querySelector(".chart-picture");
      this.part = { x: [0, 1], y: [0, 1] };  // shares of the axes that are shown
      this.canvas = element("div", { class: "chart-canvas", "aria-hidden": "true" });
      this.tip = element("div", { class: "chart-tip", "aria-hidden": "true", hidden: "" });
      this.ring = element("div", { class: "chart-ring", "aria-hidden": "true", hidden: "" });
      this.said = element("p", { class: "chart-said", "aria-live": "polite" });
      const finding = this.picture.querySelector("svg title")?.textContent ?? "";
      this.host = element(
        "div",
        { class: "chart-live", tabindex: "0", role: "application", "aria-label": `${finding} ${HELP}` },
        this.canvas, this.ring, this.tip, this.said,
      );
      this.picture.append(this.host);
      this.tools(figure.querySelector(".chart-tools"));
      this.listen();
      this.observer = new ResizeObserver(() => this.draw());
      this.observer.observe(this.picture);
      this.draw();
      figure.classList.add("is-live");
    }

    tools(row) {
      const explore = row.querySelector(".chart-explore");
      explore.setAttribute("aria-pressed", "true");
      explore.textContent = "Stop exploring";
      const button = (label, text, act) => {
        const made = element("button", { type: "button", "aria-label": label, title: label }, text);
        made.addEventListener("click", act);
        return made;
      };
      this.zoomRow = element(
        "span",
        { class: "chart-zoom" },
        button("Zoom in", "+", () => this.zoom(STEP)),
        button("Zoom out", "−", () => this.zoom(1 / STEP)),
        button("Show all", "All", () => this.reset()),
        element("span", { class: "chart-hint" }, "Ctrl and the wheel zoom, dragging moves."),
      );
      row.append(this.zoomRow);
    }

    /** Draws in the size of the static picture that shows; waits while none does, as in a closed tab. */
    draw() {
      const still = [...this.picture.querySelectorAll(":scope > svg")].find((svg) => svg.getBoundingClientRect().width > 0);
      if (!still) return;
      const { width, height } = still.getBoundingClientRect();
      const size = still.dataset.size;
      if (this.view && size === this.size && width === this.width && height === this.height) return;
      Object.assign(this, { width, height });
      this.host.style.width = `${width}px`;
      this.host.style.height = `${height}px`;
      if (size !== this.size) {
        this.view?.finalize();
        this.size = size;
        const runtime = this.library.parse(this.document[size], null, { ast: true });
        this.view = new this.library.View(runtime, {
          expr: this.library.expressionInterpreter,
          renderer: "svg",
          container: this.canvas,
          hover: false,
        });
        this.whole = null;
      }
      this.quiet();
      this.view.width(width).height(height).run();
      this.whole ??= { x: this.view.scale("x").domain(), y: this.view.scale("y").domain() };
      this.look();
    }

    /** Shows the part of the axes that `part` says. */
    look() {
      for (const axis of ["x", "y"]) {
        const [from, to] = this.part[axis];
        const scale = this.view.scale(axis).copy().domain(this.whole[axis]);
        const [begin, end] = scale.range();
        const at = (share) => scale.invert(begin + share * (end - begin));
        this.view.signal(`zoom_${axis}`, from <= 0 && to >= 1 ? null : [at(from), at(to)]);
      }
      this.host.classList.toggle("is-zoomed", this.zoomed);
      this.view.run();
    }

    get zoomed() {
      return this.part.x[1] - this.part.x[0] < 1;
    }

    /** The plot's corner in the host, in CSS pixels. */
    get corner() {
      const [left, top] = this.view.origin();
      const padding = this.view.padding();
      return [left + padding.left, top + padding.top];
    }

    /** A place in the host as shares of the axes' ranges. */
    shareOf({ x, y }) {
      const [left, top] = this.corner;
      const along = (axis, position) => {
        const [begin, end] = this.view.scale(axis).range();
        return (position - begin) / (end - begin);
      };
      return { x: along("x", x - left), y: along("y", y - top) };
    }

    share(event) {
      const box = this.canvas.getBoundingClientRect();
      return this.shareOf({ x: event.clientX - box.left, y: event.clientY - box.top });
    }

    /** What to zoom around where nobody points: the point that is told, or the one nearest to the middle. */
    heart() {
      const far = ({ x, y }) => Math.hypot(x - this.width / 2, y - this.height / 2);
      const point = this.told ?? this.points().sort((a, b) => far(a) - far(b))[0];
      return point ? this.shareOf(point) : { x: 0.5, y: 0.5 };
    }

    zoom(factor, around = this.heart()) {
      const size = Math.min(1, Math.max(1 / MOST, (this.part.x[1] - this.part.x[0]) / factor));
      for (const axis of ["x", "y"]) {
        const [from, to] = this.part[axis];
        const held = from + around[axis] * (to - from);
        this.part[axis] = within(held - around[axis] * size, size);
      }
      this.quiet();
      this.look();
    }

    pan(x, y) {
      this.part.x = within(this.part.x[0] - x * (this.part.x[1] - this.part.x[0]), this.part.x[1] - this.part.x[0]);
      this.part.y = within(this.part.y[0] - y * (this.part.y[1] - this.part.y[0]), this.part.y[1] - this.part.y[0]);
      this.quiet();
      this.look();
    }

    reset() {
      this.part = { x: [0, 1], y: [0, 1] };
      this.quiet();
      this.look();
    }

    /** The points in sight: where each is in the host, what is said of it, and which line it is on. */
    points() {
      const found = [];
      const [left, top] = this.corner;
      const inside = { x: this.view.scale("x").range(), y: this.view.scale("y").range() };
      const between = (value, [a, b]) => value >= Math.min(a, b) - 1 && value <= Math.max(a, b) + 1;
      const walk = (mark) => {
        if (mark.name === "points_marks") {
          for (const { x, y, datum } of mark.items) {
            if (between(x, inside.x) && between(y, inside.y)) {
              found.push({ x: x + left, y: y + top, about: datum.about, series: datum.series });
            }
          }
        } else if (mark.marktype === "group") {
          mark.items.forEach((group) => group.items.forEach(walk));
        }
      };
      walk(this.view.scenegraph().root);
      return found.sort((a, b) => a.x - b.x || a.y - b.y);
    }

    tell(point) {
      this.told = point;
      this.tip.textContent = point.about;
      this.tip.hidden = this.ring.hidden = false;
      this.ring.style.left = `${point.x}px`;
      this.ring.style.top = `${point.y}px`;
      const { offsetWidth: width, offsetHeight: height } = this.tip;
      const left = Math.min(Math.max(point.x - width / 2, 0), Math.max(0, this.width - width));
      const above = point.y - height - 12;
      this.tip.style.left = `${left}px`;
      this.tip.style.top = `${above >= 0 ? above : point.y + 12}px`;
    }

    quiet() {
      this.told = null;
      this.tip.hidden = this.ring.hidden = true;
    }

    point(event) {
      const box = this.canvas.getBoundingClientRect();
      const distance = ({ x, y }) => Math.hypot(x - (event.clientX - box.left), y - (event.clientY - box.top));
      const nearest = this.points().reduce((best, each) => (!best || distance(each) < distance(best) ? each : best), null);
      if (nearest && distance(nearest) <= REACH_PX) this.tell(nearest);
      else this.quiet();
    }

    step(by, along) {
      const points = this.points();
      if (!points.length) return;
      const at = this.told ? points.findIndex((each) => each.about === this.told.about) : -1;
      let next;
      if (at < 0) next = points[0];
      else if (along) {
        const line = points.filter((each) => each.series === points[at].series);
        const place = line.indexOf(points[at]) + by;
        next = line[Math.min(Math.max(place, 0), line.length - 1)];
      } else {
        const others = points.filter((each) => each.series !== points[at].series && Math.sign(points[at].y - each.y) === by);
        next = others.sort((a, b) => Math.abs(a.x - points[at].x) - Math.abs(b.x - points[at].x))[0] ?? points[at];
      }
      this.tell(next);
      this.said.textContent = next.about;
    }

    listen() {
      const { host } = this;
      let drag = null;
      let moved = false;
      host.addEventListener("pointermove", (event) => {
        if (!drag) {
          this.point(event);
          return;
        }
        const now = this.share(event);
        moved ||= Math.hypot(now.x - drag.x, now.y - drag.y) > 0.01;
        if (!moved) return;
        this.pan(now.x - drag.x, now.y - drag.y);
        drag = this.share(event);
      });
      host.addEventListener("pointerdown", (event) => {
        if (this.zoomed && event.button === 0) {
          drag = this.share(event);
          moved = false;
          host.setPointerCapture(event.pointerId);
        } else this.point(event);
      });
      host.addEventListener("pointerup", (event) => {
        if (drag && !moved) this.point(event);
        drag = null;
      });
      host.addEventListener("pointercancel", () => { drag = null; });
      // A finger leaves at once; what it asked for stays until it asks for something else.
      host.addEventListener("pointerleave", ({ pointerType }) => { if (pointerType === "mouse" && !drag) this.quiet(); });
      host.addEventListener("dblclick", () => this.reset());
      // The wheel alone scrolls the page, as everywhere. A pinch on a touchpad comes as a wheel with Ctrl.
      host.addEventListener("wheel", (event) => {
        if (!event.ctrlKey && !event.metaKey) return;
        event.preventDefault();
        this.zoom(Math.exp(-event.deltaY / 200), this.share(event));
      }, { passive: false });
      host.addEventListener("keydown", (event) => {
        const act = {
          ArrowRight: () => this.step(1, true),
          ArrowLeft: () => this.step(-1, true),
          ArrowUp: () => this.step(1, false),
          ArrowDown: () => this.step(-1, false),
          "+": () => this.zoom(STEP),
          "=": () => this.zoom(STEP),
          "-": () => this.zoom(1 / STEP),
          0: () => this.reset(),
          Escape: () => this.quiet(),
        }[event.key];
        if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        act();
      });
      host.addEventListener("blur", () => this.quiet());
    }

    remove() {
      this.observer.disconnect();
      this.view?.finalize();
      this.host.remove();
      this.zoomRow.remove();
      this.figure.classList.remove("is-live");
      const explore = this.figure.querySelector(".chart-explore");
      explore.setAttribute("aria-pressed", "false");
      explore.textContent = "Explore";
    }
  }

  /** A part of an axis that begins at `from` and has this size, moved so that it lies on the axis. */
  function within(from, size) {
    const begin = Math.min(Math.max(from, 0), 1 - size);
    return [begin, begin + size];
  }

  // ---------------------------------------------------------------- what readers do

  /** Figures whose reader has had enough: resting the mouse on them does not bring it back. */
  const stopped = new WeakSet();

  document.addEventListener("click", ({ target, detail }) => {
    const figure = target instanceof Element && target.closest(".chart-explore") ? figureOf(target) : null;
    if (!figure) return;
    if (live.has(figure)) {
      stopped.add(figure);
      stop(figure);
    } else start(figure, detail === 0);  // no click of a pointer: the keyboard goes on in the chart
  });

  let resting;
  document.addEventListener("pointerover", ({ target, pointerType }) => {
    clearTimeout(resting);
    const figure = target instanceof Element && target.closest(".chart-picture") ? figureOf(target) : null;
    const wanted = figure && pointerType === "mouse" && mouse.matches && !frugal();
    if (wanted && !live.has(figure) && !stopped.has(figure)) resting = setTimeout(() => start(figure, false), REST_MS);
  });

  /* Again whenever Material replaces the content; from then on the old figures are gone. */
  window.document$?.subscribe(() => {
    for (const figure of [...live.keys()]) if (!figure.isConnected) stop(figure);
  });
})();
