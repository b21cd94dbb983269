// The description of the API, shown by Swagger UI in the theme of the page. An operation that is tried goes to this
// server alone (the page's policy allows no other), with the key that was typed, which is stored nowhere.

const root = document.documentElement;
const place = document.querySelector("[data-docs]");
const darkSystem = matchMedia("(prefers-color-scheme: dark)");

function showTheme() {
  const theme = root.dataset.theme;
  root.classList.toggle("dark-mode", theme === "dark" || (theme !== "light" && darkSystem.matches));
}

async function describe() {
  const spec = await (await fetch(place.dataset.docs)).json();
  if (!("keyNeeded" in place.dataset)) return spec;
  const key = { type: "http", scheme: "bearer", description: document.querySelector(".docs-key").firstChild.textContent.trim() };
  return { ...spec, security: [{ key: [] }], components: { ...spec.components, securitySchemes: { key } } };
}

showTheme();
darkSystem.addEventListener("change", showTheme);
new MutationObserver(showTheme).observe(root, { attributeFilter: ["data-theme"] });

window.SwaggerUIBundle({
  spec: await describe(),
  domNode: place,
  deepLinking: true,
  displayOperationId: true,
  displayRequestDuration: true,
  docExpansion: "none", // beyond 150 open rows it draws only those in sight, which no search of the browser finds
  defaultModelsExpandDepth: 0,
  filter: true,
  syntaxHighlight: { activated: false }, // its colours are of one theme
  persistAuthorization: false,
  validatorUrl: null,
  plugins: [() => ({ wrapComponents: { InfoContainer: () => () => null } })], // the page has a head of its own
});
