/*
 * The page for lost readers: names the address that was asked for and the page that is nearest to it by its name.
 * Without this file the page lists all pages all the same.
 */
(() => {
  "use strict";

  /** Edits that turn one text into another: letters added, left out or changed. */
  function distance(from, to) {
    let row = [...Array(to.length + 1).keys()];
    [...from].forEach((letter, i) => {
      const next = [i + 1];
      [...to].forEach((other, j) => {
        next.push(Math.min(row[j + 1] + 1, next[j] + 1, row[j] + (letter !== other)));
      });
      row = next;
    });
    return row[to.length];
  }

  /** A page's name: the last part of its address, without ending, number and punctuation. */
  const name = (path) => decodeURIComponent(path.split("/").filter(Boolean).pop() ?? "")
    .replace(/\.\w+$/, "").replace(/^\d+-/, "").replace(/[\W_]+/g, " ").trim().toLowerCase();

  function begin() {
    const lost = document.querySelector(".lost");
    const address = lost?.querySelector(".lost-address");
    if (!address || address.textContent) return;
    let asked;
    try {
      asked = name(location.pathname);
    } catch {
      return;  // an address that is not even encoded as one
    }
    address.textContent = location.pathname;
    address.before(", ");
    const links = [...lost.querySelectorAll(".lost-pages a")];
    const away = (link) => distance(asked, name(link.pathname));
    const nearest = links.reduce((best, link) => (away(link) < away(best) ? link : best), links[0]);
    if (!asked || away(nearest) > asked.length / 2) return;
    const line = lost.querySelector(".lost-nearest");
    const link = line.querySelector("a");
    link.href = nearest.href;
    link.textContent = nearest.textContent;
    line.hidden = false;
  }

  begin();
  window.document$?.subscribe(begin);
})();
