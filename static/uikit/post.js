// A form sent by a script: the answer is JSON, and so is a refusal.

/** Post a form's data. Resolves to what was answered; rejects with an Error that says why not. */
export async function post(url, body, token) {
  const headers = { Accept: "application/json", "X-CSRFToken": token };
  const answer = await fetch(url, { method: "POST", body, headers });
  const said = await answer.json().catch(() => ({}));
  if (answer.ok) return said;
  throw new Error(said.error?.message ?? said.detail ?? `${answer.status} ${answer.statusText}`);
}
