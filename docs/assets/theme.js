// Two things that Material's script does while a page loads, and that can wait. This file must come before that script.
"use strict";

// The search index is loaded when a reader turns to the search, and not by everybody with the first page.
//
// Material's script asks for it at once and waits for as long as it takes, so that one request is held back. An address
// that comes from a search result (?h=) or holds a query (?q=) wants it, too.
(() => {
  const SEARCH = "[data-md-component=search], [for=__search], #__search";
  const INDEX = /\/search\/search_index\.json$/;

  const wanted = new Promise((resolve) => {
    if (/[?&][hq]=/.test(location.search)) resolve();
    for (const kind of ["pointerover", "focusin", "change"])
      document.addEventListener(kind, (event) => event.target.closest?.(SEARCH) && resolve(), { passive: true });
  });

  const { open, send } = XMLHttpRequest.prototype;
  const held = new WeakSet();

  XMLHttpRequest.prototype.open = function (method, url, ...rest) {
    if (INDEX.test(url)) held.add(this);
    return open.call(this, method, url, ...rest);
  };

  XMLHttpRequest.prototype.send = function (...body) {
    if (held.delete(this)) wanted.then(() => send.apply(this, body));
    else send.apply(this, body);
  };
})();

// Style sheets get their whole address when a reader follows a link, and not while the page loads.
//
// Material's script sets it on every link, since another page without a reload may be in another folder. To do so to a
// style sheet in use takes it out of use and back: a browser then styles and lays out the whole page a second time. So
// that one assignment is held back. Who asks a style sheet for its address hears the same as ever.
(() => {
  if (!location.protocol.startsWith("http")) return; // A page from a file is left in the usual way.
  const sheets = new Map();
  for (const link of document.querySelectorAll("link[rel=stylesheet]")) {
    const { href } = link;
    sheets.set(link, href);
    Object.defineProperty(link, "href", { configurable: true, get: () => href, set() {} });
  }

  const leave = () => {
    for (const [link, href] of sheets) {
      delete link.href;
      link.href = href;
    }
    sheets.clear();
  };
  addEventListener("click", (event) => event.target.closest?.("a[href]") && leave(), true);
  addEventListener("popstate", leave, true);
})();
