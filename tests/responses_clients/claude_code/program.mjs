// Claude Code, pointed here by its variables alone: it asks the Messages API, and what it asks is in the log of completions.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const { run, script } = await import(process.env.CHECKS);
const { SERVER, MODEL } = process.env;
const CLAUDE = fileURLToPath(new URL('node_modules/@anthropic-ai/claude-code/cli-wrapper.cjs', import.meta.url));

const TASK = script(
  'think Let me write it down.',
  'say I write.',
  'call Bash {"command": "echo one > notes.txt", "description": "Write"}',
  'then',
  'call Bash {"command": "echo two >> notes.txt", "description": "Write more"}',
  'call Bash {"command": "pwd", "description": "Look where"}',
  'then',
  'call Bash {"command": "cat notes.txt; false", "description": "Read"}',
  'then',
  'say There are two lines in it.',
);

/** A Claude Code with a home and a folder of its own. */
class Claude {
  constructor(name, more = {}) {
    this.folder = `${process.cwd()}/${name}`;
    mkdirSync(this.folder);
    this.env = {
      ...process.env,
      HOME: this.folder,
      ANTHROPIC_BASE_URL: SERVER,
      ANTHROPIC_AUTH_TOKEN: 'none',
      ANTHROPIC_MODEL: MODEL,
      ANTHROPIC_DEFAULT_HAIKU_MODEL: MODEL,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      CLAUDE_CODE_MAX_RETRIES: '1',
      DISABLE_AUTOUPDATER: '1',
      ...more,
    };
  }

  /** What it prints of a turn. */
  async ask(words, ...how) {
    const line = [CLAUDE, '-p', words, '--output-format', 'stream-json', '--verbose', '--allowedTools', 'Bash', ...how];
    const running = promisify(execFile)('node', line, { cwd: this.folder, env: this.env }).catch((failed) => failed);
    running.child?.stdin.end();
    const { stdout } = await running;
    return stdout.trim().split('\n').map((text) => JSON.parse(text));
  }
}

const blocks = (events, role, type) =>
  events.filter((event) => event.type === role).flatMap((event) => event.message.content).filter((one) => one.type === type);
const results = (events) => blocks(events, 'user', 'tool_result').map((one) => [one.content, Boolean(one.is_error)]);

const completions = async () => {
  const response = await fetch(`${SERVER}/v1/chat/completions?order=desc&limit=100`);
  assert.equal(response.status, 200);
  return (await response.json()).data;
};

/** A greeting first: what it tells a model of its folder and the day stands before the first words of a conversation. */
async function tools_in_a_conversation_that_goes_on() {
  const claude = new Claude('tools');
  const [greeting] = (await claude.ask('Hello.')).slice(-1);
  assert.equal(greeting.is_error, false, JSON.stringify(greeting));
  const events = await claude.ask(TASK, '--resume', greeting.session_id);
  const end = events.at(-1);
  assert.deepEqual([end.subtype, end.result, end.num_turns > 3], ['success', 'There are two lines in it.', true]);
  assert.ok(end.usage.input_tokens > 0 && end.usage.output_tokens > 0);
  assert.deepEqual(blocks(events, 'assistant', 'text').map((one) => one.text), ['I write.', 'There are two lines in it.']);
  const calls = blocks(events, 'assistant', 'tool_use');
  assert.deepEqual(calls.map((one) => one.name), ['Bash', 'Bash', 'Bash', 'Bash']);
  assert.deepEqual(results(events).map(([, failed]) => failed), [false, false, false, true]);
  assert.match(results(events).at(-1)[0], /one\ntwo/);
  assert.equal(readFileSync(`${claude.folder}/notes.txt`, 'utf8'), 'one\ntwo\n');

  const rows = (await completions()).filter((row) => JSON.stringify(row.input_messages).includes('echo one'));
  assert.deepEqual(rows.map((row) => [row.status, row.api]), Array(4).fill(['completed', 'messages']));
  assert.equal(rows[0].choices[0].message.content, 'There are two lines in it.');
  const roles = rows[0].input_messages.map((message) => message.role);
  const round = ['assistant', 'tool'];
  assert.deepEqual(roles.slice(roles.lastIndexOf('user') + 1), [...round, ...round, 'tool', ...round]);
  assert.ok(rows.at(-1).choices[0].message.reasoning_content.includes('Let me write it down.'));
}

async function what_a_model_thinks() {
  const claude = new Claude('thoughts', { MAX_THINKING_TOKENS: '4000' });
  const [greeting] = (await claude.ask('Hello.')).slice(-1);
  const events = await claude.ask(script('think Hm, a riddle.', 'say Six.'), '--resume', greeting.session_id);
  assert.equal(events.at(-1).result, 'Six.');
  assert.deepEqual(blocks(events, 'assistant', 'thinking').map((one) => one.thinking), ['Hm, a riddle.']);
  const again = await claude.ask(script('say Still six.'), '--resume', greeting.session_id);
  assert.equal(again.at(-1).result, 'Still six.');
}

async function a_model_that_is_not_there() {
  const end = (await new Claude('absent', { ANTHROPIC_MODEL: 'scripted/absent' }).ask('Hello.')).at(-1);
  assert.equal(end.is_error, true);
  assert.match(end.result, /scripted\/absent/);
}

async function a_model_that_fails() {
  const claude = new Claude('failing');
  const [greeting] = (await claude.ask('Hello.')).slice(-1);
  const end = (await claude.ask(script('fail 400 not like this'), '--resume', greeting.session_id)).at(-1);
  assert.equal(end.is_error, true);
  assert.match(end.result, /not like this/);
}

await run(tools_in_a_conversation_that_goes_on, what_a_model_thinks, a_model_that_is_not_there, a_model_that_fails);
