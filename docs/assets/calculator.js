/*
 * What a model takes at a setting, and on which machine it fits. Loaded by the pages that have the element `.calculator`.
 * The build wrote one setting in full (hooks/widgets/calculator.py); this does the same arithmetic, operation by operation as in
 * hooks/widgets/footprint.py, and says the same words as hooks/widgets/calculator_words.py for any other. The setting is in the address.
 */
(() => {
  "use strict";

  const PAUSE_MS = 200;  // so long after the last change the address follows

  // ---------------------------------------------------------------- numbers as the build writes them

  const SPACE = "\u202f";
  const PREFIX = { "-9": "n", "-6": "µ", "-3": "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P" };
  const UNITS = { bytes: ["B", 0, 15], flop: ["FLOP", 0, 15], s: ["s", -9, 0], "tokens/s": ["tokens/s", 0, 0] };
  const DIGITS = 3;

  const grouped = (digits) => digits.replace(/\B(?=(\d{3})+$)/g, ",");
  const whole = (value) => grouped(String(value));
  const plural = (value, noun) => `${whole(value)} ${noun}${value === 1 ? "" : "s"}`;

  /** Decimal digits and exponent of a positive value, rounded to DIGITS; a tie goes to the even digit, as at build. */
  function rounded(value) {
    const [mantissa, exponent] = value.toExponential().split("e");
    const digits = mantissa.replace(".", "").padEnd(DIGITS + 1, "0");
    const kept = Number(digits.slice(0, DIGITS));
    const rest = digits.slice(DIGITS).replace(/0+$/, "");
    const up = rest > "5" || (rest === "5" && kept % 2 === 1);
    const made = String(kept + (up ? 1 : 0));
    return made.length > DIGITS ? ["1".padEnd(DIGITS, "0"), Number(exponent) + 1] : [made, Number(exponent)];
  }

  function shown(value, unit) {
    const [symbol, least, most] = UNITS[unit];
    if (value === 0) return `0${SPACE}${symbol}`;
    const [digits, exponent] = rounded(value);
    const power = Math.min(Math.max(3 * Math.floor(exponent / 3), least), most);
    const before = exponent - power + 1;  // digits before the point
    const text = before > 0
      ? grouped(digits.slice(0, before).padEnd(before, "0")) + (before < DIGITS ? `.${digits.slice(before)}` : "")
      : `0.${"0".repeat(-before)}${digits}`;
    return `${text}${SPACE}${PREFIX[power]}${symbol}`;
  }

  const bytes = (value) => shown(value, "bytes");

  // ---------------------------------------------------------------- arithmetic

  function footprint(model, setting) {
    const tokens = setting.context * setting.batch;
    const weightsRead = model.read_always + Math.min(setting.batch, model.vocab_rows) * model.read_per_sequence;
    const cache = tokens * model.cache_elements_per_token * setting.cache / 8;
    return {
      weights: model.parameters * setting.weights / 8,
      cache,
      weightsRead,
      read: weightsRead * setting.weights / 8 + cache,
      flop: setting.batch * (model.flop_per_sequence + (setting.context + 1) * model.flop_per_position),
    };
  }

  const rateOf = (machine, setting) => machine.rate_bits === Math.max(setting.weights, 16) ? machine.rate : null;

  function leastSeconds(found, machine, rate) {
    const reading = found.read / machine.read;
    return rate === null ? reading : Math.max(reading, found.flop / rate);
  }

  // ---------------------------------------------------------------- words

  function settingOf(model, { batch, context, weights, cache }) {
    const sequences = `${plural(batch, "sequence")} of ${plural(context, "token")}`;
    return `${model.title}, ${sequences}, weights at ${weights} bits, KV cache at ${cache} bits`;
  }

  /** Value and formula of each result, by its name. */
  function results(model, setting, machine) {
    const found = footprint(model, setting);
    const rate = rateOf(machine, setting);
    const least = leastSeconds(found, machine, rate);
    const byArithmetic = rate !== null && found.flop / rate > found.read / machine.read;
    const [tokens, batch] = [plural(setting.context, "token"), plural(setting.batch, "sequence")];
    const tooLong = setting.context > model.max_positions
      ? `. ${model.title} accepts at most ${plural(model.max_positions, "token")}` : "";
    const reading = `${bytes(found.read)} ÷ ${machine.read_text}`;
    const time = `${shown(found.flop, "flop")} ÷ ${machine.rate_text}, more than ${reading}`;
    const unknown = rate === null ? ". How fast it calculates at this precision is not known here" : "";
    return {
      weights: [bytes(found.weights), `${whole(model.parameters)} parameters × ${setting.weights} bits ÷ 8`],
      cache: [
        bytes(found.cache),
        `${tokens} × ${batch} × 2 × ${model.layers} layers × ${model.kv_heads} KV heads × ` +
          `${model.head_size} numbers × ${setting.cache} bits ÷ 8${tooLong}`,
      ],
      read: [
        bytes(found.read),
        `${whole(found.weightsRead)} weights × ${setting.weights} bits ÷ 8 + ${bytes(found.cache)} of cache`,
      ],
      flop: [
        shown(found.flop, "flop"),
        `${batch} × (${whole(model.flop_per_sequence)} + ${whole(setting.context + 1)} positions × ` +
          `${whole(model.flop_per_position)})`,
      ],
      least: [shown(least, "s"), byArithmetic ? time : reading + unknown],
      speed: [
        shown(setting.batch / least, "tokens/s"),
        `${plural(setting.batch, "token")} ÷ ${shown(least, "s")}`,
      ],
    };
  }

  /** Of one machine: whether all fits, least time, speed. */
  function row(model, setting, machine) {
    const found = footprint(model, setting);
    const least = leastSeconds(found, machine, rateOf(machine, setting));
    const left = machine.memory - (found.weights + found.cache);
    const holds = left >= 0;
    return {
      fits: holds ? `yes, ${bytes(left)} left` : `no, ${bytes(-left)} too much`,
      least: holds ? shown(least, "s") : "–",
      speed: holds ? shown(setting.batch / least, "tokens/s") : "–",
    };
  }

  // ---------------------------------------------------------------- the element

  class Calculator {
    constructor(root) {
      this.root = root;
      this.data = JSON.parse(root.dataset.calculator);
      this.fields = Object.fromEntries(
        [...root.querySelectorAll("[name]")].map((field) => [field.name, field]),
      );
      this.timer = 0;
      this.read(new URLSearchParams(location.search));
      root.addEventListener("input", (event) => this.changed(event.target));
      root.addEventListener("change", (event) => this.settle(event.target));
      root.classList.add("is-ready");
      this.show();
    }

    /** The setting of an address; what is not in it, or makes no sense, is as the build has it. */
    read(asked) {
      for (const [name, field] of Object.entries(this.fields)) {
        field.value = this.data.start[name];
        const wanted = asked.get(name);
        if (wanted === null) continue;
        const known = field.tagName === "SELECT" ? [...field.options].some((option) => option.value === wanted)
          : this.sensible(field, wanted);
        if (known) field.value = wanted;
      }
      this.moveSliders();
    }

    sensible(field, text) {
      return /^[1-9]\d*$/.test(text) && Number(text) <= Number(field.max);
    }

    changed(target) {
      const moved = target.dataset.moves;
      if (moved) this.fields[moved].value = 2 ** target.value;
      else this.moveSliders();
      for (const name of ["context", "batch"]) {
        const field = this.fields[name];
        field.toggleAttribute("aria-invalid", !this.sensible(field, field.value));
        if (field.hasAttribute("aria-invalid")) field.setAttribute("aria-invalid", "true");
      }
      if (this.root.querySelector("[aria-invalid]")) return;
      this.show();
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.write(), PAUSE_MS);
    }

    /** A field that is left with something senseless in it takes the nearest setting that makes sense. */
    settle(target) {
      if (target.type !== "number" || this.sensible(target, target.value)) return;
      target.value = Math.min(Math.max(Math.round(Number(target.value)) || 1, 1), Number(target.max));
      this.changed(target);
    }

    moveSliders() {
      this.root.querySelectorAll("[data-moves]").forEach((slider) => {
        slider.value = Math.round(Math.log2(Number(this.fields[slider.dataset.moves].value) || 1));
        slider.setAttribute("aria-valuetext", whole(Number(this.fields[slider.dataset.moves].value) || 1));
      });
    }

    setting() {
      const { context, batch, weights, cache } = this.fields;
      return Object.fromEntries(
        Object.entries({ context, batch, weights, cache }).map(([name, field]) => [name, Number(field.value)]),
      );
    }

    show() {
      const [model, setting] = [this.data.models[this.fields.model.value], this.setting()];
      const chosen = this.fields.on.value;
      const found = results(model, setting, this.data.machines[chosen]);
      this.root.querySelector(".calculator-setting").textContent = settingOf(model, setting);
      for (const [name, [value, formula]] of Object.entries(found)) {
        const line = this.root.querySelector(`[data-result="${name}"]`);
        line.querySelector("strong").textContent = value;
        line.querySelector(".calculator-formula").textContent = formula;
      }
      this.root.querySelector('[data-result="least"] dt').textContent =
        `Least time of that step, ${this.data.machines[chosen].label}`;
      this.root.querySelectorAll("[data-machine]").forEach((line) => {
        const key = line.dataset.machine;
        line.classList.toggle("is-chosen", key === chosen);
        const words = row(model, setting, this.data.machines[key]);
        for (const [name, text] of Object.entries(words)) {
          line.querySelector(`[data-cell="${name}"]`).textContent = text;
        }
        line.classList.toggle("is-full", words.least === "–");
      });
    }

    /** The setting in the address, for a bookmark or a link; what is as at the start is left out. */
    write() {
      if (!this.root.isConnected) return;
      const address = new URL(location.href);
      for (const [name, field] of Object.entries(this.fields)) {
        if (field.value === String(this.data.start[name])) address.searchParams.delete(name);
        else address.searchParams.set(name, field.value);
      }
      address.hash = this.root.id;
      try {
        history.replaceState(history.state, "", address);
      } catch {
        // A browser may keep a page that is a file from it; the calculator works all the same.
      }
    }
  }

  document.querySelectorAll(".calculator:not(.is-ready)").forEach((root) => new Calculator(root));

  globalThis.splicedCalculator = { settingOf, results, row };
})();
