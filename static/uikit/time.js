// Times in the reader's zone. The server writes <time datetime="…"> in UTC; here the words inside
// become local, with the exact moment in both on hover. Without this script UTC stays.
//
//   <time datetime="…">                        20 Nov 2026, 14:32:07
//   <time datetime="…" data-clock>             14:32:07, and the day in its <small> unless today
//   <time datetime="…" data-ago>               5 min ago
//   <span data-elapsed="1900">                 milliseconds at rendering; counts on while shown

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
const lang = document.documentElement.lang || "en";
const language = lang === "en" ? "en-GB" : lang; // the day before the month, as the server writes it
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat(language, { day: "numeric", month: "short" });
const dayAndYear = new Intl.DateTimeFormat(language, { day: "numeric", month: "short", year: "numeric" });
const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto", style: "short" });
const zoneName = new Intl.DateTimeFormat(language, { timeZoneName: "short" });
const tenths = new Intl.NumberFormat(language, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const days = new Intl.NumberFormat(language);
const SPANS = [["day", 86_400], ["hour", 3_600], ["minute", 60], ["second", 1]];

/** Put all times inside ``root`` into the reader's zone. */
export function localise(root) {
  for (const each of root.querySelectorAll("time[datetime]")) show(each);
  for (const each of root.querySelectorAll("[data-elapsed]")) each.dataset.begun = performance.now(); // an attribute, for copies have it too
}

function show(time) {
  const at = new Date(time.dateTime);
  if (Number.isNaN(at.valueOf())) return;
  time.title = exact(at);
  if ("ago" in time.dataset) time.textContent = ago(at);
  else if ("clock" in time.dataset) showClock(time, at);
  else time.textContent = `${dayAndYear.format(at)}, ${clock.format(at)}`;
}

function showClock(time, at) {
  const small = time.querySelector("small");
  const today = at.toDateString() === new Date().toDateString();
  time.firstChild.nodeValue = clock.format(at);
  if (small) small.textContent = today ? "" : day.format(at);
}

function exact(at) {
  const short = zoneName.formatToParts(at).find((part) => part.type === "timeZoneName")?.value ?? zone;
  const millis = String(at.getMilliseconds()).padStart(3, "0");
  return `${dayAndYear.format(at)}, ${clock.format(at)}.${millis} ${short}\n${at.toISOString()}`;
}

function ago(at) {
  const seconds = (at - Date.now()) / 1000;
  const [unit, length] = SPANS.find(([, span]) => Math.abs(seconds) >= span) ?? SPANS.at(-1);
  return relative.format(Math.round(seconds / length), unit);
}

/** A length of time as the server writes it: 440 ms, 1.9 s, 2 m 05 s, 3 h 07 m, 2 d 04 h. */
export function duration(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 59.95) return `${tenths.format(seconds)} s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)} m ${String(whole % 60).padStart(2, "0")} s`;
  if (whole < 86_400) return `${Math.floor(whole / 3600)} h ${String(Math.floor(whole / 60) % 60).padStart(2, "0")} m`;
  return `${days.format(Math.floor(whole / 86_400))} d ${String(Math.floor(whole / 3600) % 24).padStart(2, "0")} h`;
}

function tick() {
  for (const each of document.querySelectorAll("[data-elapsed]")) {
    each.textContent = duration(Number(each.dataset.elapsed) + performance.now() - Number(each.dataset.begun));
  }
  for (const each of document.querySelectorAll("time[data-ago]")) show(each);
}

document.documentElement.dataset.times = "local"; // hides the notes that say UTC
document.cookie = `tz=${encodeURIComponent(zone)}; path=${document.documentElement.dataset.root ?? ""}/; max-age=31536000; samesite=lax`;
localise(document);
setInterval(tick, 1000);
