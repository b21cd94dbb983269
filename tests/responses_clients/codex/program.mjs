// Codex, pointed here by its config file alone: it asks for nothing to be stored, and can be read in the log all the same.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const { run, script } = await import(process.env.CHECKS);
const { SERVER, MODEL, OPENAI_BASE_URL } = process.env;
const CODEX = fileURLToPath(new URL('node_modules/.bin/codex', import.meta.url));

const TASK = script(
  'think Let me write it down.',
  'call exec_command {"cmd": "echo one > notes.txt"}',
  'then',
  'call exec_command {"cmd": "echo two >> notes.txt"}',
  'call exec_command {"cmd": "pwd"}',
  'then',
  'wait 1s',
  'call exec_command {"cmd": "cat notes.txt"}',
  'then',
  'say There are two lines in it.',
);
const NEXT = script('call exec_command {"cmd": "wc -l notes.txt"}', 'then', 'say Still two.');
const COMPACT_AT = 3000;

/** A Codex with a configuration and a folder of its own. */
class Codex {
  constructor(name, { provider = 'here', websockets = false, more = '' } = {}) {
    this.folder = `${process.cwd()}/${name}`;
    this.home = `${this.folder}/.codex`;
    mkdirSync(this.home, { recursive: true });
    const settings = `
model = "${MODEL}"
model_provider = "server"
${more}

[model_providers.server]
name = "${provider}"
base_url = "${OPENAI_BASE_URL}"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
supports_websockets = ${websockets}
`;
    writeFileSync(`${this.home}/config.toml`, settings);
  }

  /** The items of a turn, and the thread's id. */
  async ask(words, ...how) {
    const line = ['exec', ...how, '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', '--json', words];
    const env = { ...process.env, CODEX_HOME: this.home };
    const running = promisify(execFile)(CODEX, line, { cwd: this.folder, env });
    running.child.stdin.end();
    const events = (await running).stdout.trim().split('\n').map((text) => JSON.parse(text));
    const failed = events.filter((event) => ['error', 'turn.failed'].includes(event.type));
    assert.deepEqual(failed, []);
    assert.equal(events.at(-1).type, 'turn.completed');
    const items = events.filter((event) => event.type === 'item.completed').map((event) => event.item);
    return { items, thread: events[0].thread_id };
  }

  /** A task, and a further question once Codex was ended; the thread's turns as the log has them. */
  async work() {
    const first = await this.ask(TASK);
    assert.equal(first.items.at(-1).text, 'There are two lines in it.');
    const outputs = commands(first.items);
    assert.equal(outputs.length, 4);
    assert.equal(outputs.at(-1), 'one\ntwo\n');
    assert.equal(readFileSync(`${this.folder}/notes.txt`, 'utf8'), 'one\ntwo\n');
    const second = await this.ask(NEXT, 'resume', '--last');
    assert.equal(second.items.at(-1).text, 'Still two.');
    assert.deepEqual(commands(second.items), ['2 notes.txt\n']);
    assert.equal(second.thread, first.thread);
    return turns(first.thread);
  }
}

const commands = (items) =>
  items.filter((item) => item.type === 'command_execution').map((item) => item.aggregated_output);

const answer = async (path) => {
  const response = await fetch(`${SERVER}${path}`);
  assert.equal(response.status, 200, path);
  return response;
};
const rows = async (kind, query) =>
  (await (await answer(`/v1/logs/${kind}?order=asc&limit=100&q=${encodeURIComponent(query)}`)).json()).data;
const turns = (thread) => rows('turns', `meta.thread:${thread}`);
const kinds = (turn) => turn.steps.map((step) => step.kind || step.type);
const once = (values) => [...new Set(values)];

/** What the log must say of `work`: two turns of one session that have all rounds, under the user's words. */
async function check_log(found) {
  assert.equal(found.length, 2);
  const [first, second] = found;
  assert.equal(first.session_id, second.session_id);
  assert.deepEqual(found.map((turn) => turn.status), ['completed', 'completed']);
  const [ask, call] = ['inference', 'tool_execution'];
  assert.deepEqual(kinds(first), [ask, call, ask, call, call, ask, call, ask]);
  assert.deepEqual(kinds(second), [ask, call, ask]);
  assert.deepEqual(found.map((turn) => turn.input_preview.slice(0, 12)), ['!script thin', '!script call']);
  assert.deepEqual(found.map((turn) => turn.output_preview), ['There are two lines in it.', 'Still two.']);
  const steps = await rows('steps', `turn:${first.id} type:tool`);
  assert.deepEqual(once(steps.map((step) => step.name)), ['exec_command']);
  const page = await (await answer(`/turns/${first.id}/`)).text();
  for (const words of ['Let me write it down.', 'cat notes.txt', 'There are two lines in it.'])
    assert.ok(page.includes(words), words);
}

/** What the log must say of `work` whose context was compacted on the way: one session, with all calls in it. */
function check_compacted_log(found) {
  assert.deepEqual(once(found.map((turn) => turn.session_id)).length, 1, JSON.stringify(found.map(kinds)));
  assert.deepEqual(once(found.map((turn) => turn.status)), ['completed']);
  const steps = found.flatMap(kinds);
  assert.equal(steps.filter((kind) => kind === 'tool_execution').length, 5);
  assert.ok(steps.includes('compaction'), steps);
}

/** Run something, and tell whether a socket was open meanwhile. */
async function on_socket(work) {
  let seen = false;
  const looking = setInterval(async () => {
    const metrics = await (await answer('/metrics')).text();
    seen ||= /^turnlog_readers\{kind="socket"\} [1-9]/m.test(metrics);
  }, 100);
  const result = await work().finally(() => clearInterval(looking));
  return { seen, result };
}

async function over_http() {
  const { seen, result } = await on_socket(() => new Codex('http').work());
  assert.ok(!seen);
  await check_log(result);
}

async function over_websocket() {
  const { seen, result } = await on_socket(() => new Codex('websocket', { websockets: true }).work());
  assert.ok(seen, 'it fell back to HTTP');
  await check_log(result);
}

const compacting = `model_auto_compact_token_limit = ${COMPACT_AT}`;

async function remote_compaction() {
  check_compacted_log(await new Codex('compacted', { provider: 'OpenAI', more: compacting }).work());
}

async function remote_compaction_over_websocket() {
  const codex = new Codex('compacted-websocket', { provider: 'OpenAI', websockets: true, more: compacting });
  const { seen, result } = await on_socket(() => codex.work());
  assert.ok(seen, 'it fell back to HTTP');
  check_compacted_log(result);
}

await run(over_http, over_websocket, remote_compaction, remote_compaction_over_websocket);
