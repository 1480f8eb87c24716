/*
 * The filter of the Data section's lists. The lists are complete without it; it hides what does not have all words that
 * a reader typed. Loaded by the pages that have a list, again after each navigation.
 */
(() => {
  "use strict";

  const box = document.getElementById("data-filter");
  if (!box || box.dataset.ready) return;
  box.dataset.ready = "";

  const list = box.closest(".data-index");
  const count = document.getElementById("data-filter-count");
  const nothing = list.querySelector(".data-nothing");
  const said = count.textContent;
  const what = said.replace(/^\d+\s*/, "");
  const plain = (text) => text.toLowerCase().normalize("NFKD").replace(/[\u0300-\u036f]/g, "");
  const groups = [...list.querySelectorAll(".data-group")].map((group) => ({
    node: group,
    rows: [...group.querySelectorAll("li")].map((row) => ({
      node: row,
      text: plain(`${row.textContent} ${row.dataset.find} ${group.querySelector("h2")?.textContent ?? ""}`),
    })),
  }));
  const all = groups.reduce((sum, group) => sum + group.rows.length, 0);

  function filter() {
    const words = plain(box.value).split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const group of groups) {
      let some = 0;
      for (const row of group.rows) {
        const fits = words.every((word) => row.text.includes(word));
        row.node.hidden = !fits;
        some += fits;
      }
      group.node.hidden = some === 0;
      shown += some;
    }
    count.textContent = words.length ? `${shown} of ${all} ${what}` : said;
    nothing.hidden = shown > 0;
  }

  const links = () => [...list.querySelectorAll(".data-group:not([hidden]) li:not([hidden]) > a")];

  box.addEventListener("input", filter);
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter") links()[0]?.click();
    else if (event.key === "ArrowDown") {
      event.preventDefault();
      links()[0]?.focus();
    } else if (event.key === "Escape" && box.value) {
      event.preventDefault();
      box.value = "";
      filter();
    } else return;
    event.stopPropagation();
  });
  list.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const all = links();
    const at = all.indexOf(document.activeElement);
    if (at < 0) return;
    event.preventDefault();
    if (event.key === "ArrowUp" && at === 0) box.focus();
    else all[Math.min(all.length - 1, at + (event.key === "ArrowDown" ? 1 : -1))].focus();
  });
  if (box.value) filter(); // the browser keeps what was typed when a reader comes back
})();
