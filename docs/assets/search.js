// The search index is loaded when a reader turns to the search, and not by everybody with the first page.
//
// Material's script asks for it at once and waits for as long as it takes, so that one request is held back. This file
// must come before that script. An address that comes from a search result (?h=) or holds a query (?q=) wants it, too.
"use strict";

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
