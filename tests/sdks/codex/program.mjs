// Codex, asked twice in one session. It needs no account: its model is that of the server here.

import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

// Codex always asks for encrypted reasoning and for nothing to be kept: the one this server refuses, and without the
// other there would be no tokens to compare with
async function passOn(request, response) {
  const parts = [];
  for await (const part of request) parts.push(part);
  const { include, ...asked } = JSON.parse(Buffer.concat(parts).toString());
  const answer = await fetch(process.env.SERVER + request.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...asked, store: true }),
  });
  response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') });
  response.end(Buffer.from(await answer.arrayBuffer()));
}

function serve() {
  const server = createServer((request, response) => {
    if (request.method === 'POST') return passOn(request, response);
    response.writeHead(404).end();
  });
  return new Promise((ready) => server.listen(0, '127.0.0.1', () => ready(server.address().port)));
}

function configure(port) {
  mkdirSync('home', { recursive: true });
  const settings = `
model = "${process.env.MODEL}"
model_provider = "here"
approval_policy = "never"
sandbox_mode = "danger-full-access"
web_search = "disabled"

[features]
multi_agent = false

[model_providers.here]
name = "here"
base_url = "http://127.0.0.1:${port}/v1"
wire_api = "responses"

${process.env.COPIED}`;
  writeFileSync('home/config.toml', settings);
}

async function ask(words, ...how) {
  const codex = fileURLToPath(new URL('node_modules/.bin/codex', import.meta.url));
  const environment = { ...process.env, CODEX_HOME: `${process.cwd()}/home` };
  const line = ['exec', ...how, '--skip-git-repo-check', words];
  const running = promisify(execFile)(codex, line, { env: environment });
  running.child.stdin.end();
  process.stdout.write((await running).stdout);
}

configure(await serve());
await ask(process.env.FIRST);
await ask(process.env.SECOND, 'resume', '--last');
process.exit();
