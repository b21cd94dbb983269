// The reader's theme on the admin's pages, before the first paint: their <html> is Django's, so the
// server cannot write it there. The switch itself is theme.js, as everywhere.

const chosen = document.cookie.match(/(?:^|; )theme=(light|dark|contrast)(?:;|$)/);
if (chosen) document.documentElement.dataset.theme = chosen[1];
