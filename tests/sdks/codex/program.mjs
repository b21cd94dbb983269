// Codex, asked twice in one session. It needs no account: its model is that of the server here.

import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

function configure() {
  mkdirSync('home', { recursive: true });
  const settings = `
model = "${process.env.MODEL}"
model_provider = "here"
approval_policy = "never"
sandbox_mode = "danger-full-access"

[model_providers.here]
name = "here"
base_url = "${process.env.OPENAI_BASE_URL}"
wire_api = "responses"
env_key = "OPENAI_API_KEY"

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

configure();
await ask(process.env.FIRST);
await ask(process.env.SECOND, 'resume', '--last');
