// A session's page while its turns run: the turns that change or come are rendered again.

import "../uikit/enter-sends.js";
import { refresher } from "../uikit/parts.js";
import { subscribe } from "../uikit/socket.js";
import { root } from "../uikit/root.js";

const page = document.querySelector("[data-session]");

if ("live" in page.dataset) {
  const { session, cursor } = page.dataset;
  const refresh = refresher(`${root}/sessions/${session}/parts/${location.search}`);
  subscribe({ topic: `session:${session}`, level: "turns", after: cursor, as: "json" }, { events: refresh, gap: refresh });
}
