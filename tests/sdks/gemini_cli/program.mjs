// Gemini CLI, asked twice in one session. It needs no account: Google's API is spoken here, the answers are the
// server's own model's.

import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

// The messages of OpenAI's API that a part of Google's is; calls have no ids there: their names are
function messageOf({ text, functionCall, functionResponse }, role) {
  if (functionCall) {
    const called = { name: functionCall.name, arguments: JSON.stringify(functionCall.args) };
    const call = { id: functionCall.id ?? functionCall.name, type: 'function', function: called };
    return { role: 'assistant', content: null, tool_calls: [call] };
  }
  if (functionResponse) {
    const { id, name, response } = functionResponse;
    return { role: 'tool', tool_call_id: id ?? name, content: JSON.stringify(response) };
  }
  return { role: role === 'model' ? 'assistant' : 'user', content: text };
}

function asked({ contents, tools }) {
  const declared = (tools ?? []).flatMap((tool) => tool.functionDeclarations ?? []);
  return {
    model: process.env.MODEL,
    messages: contents.flatMap(({ role, parts }) => parts.map((part) => messageOf(part, role))),
    tools: declared.map(({ name, description, parametersJsonSchema }) => ({
      type: 'function',
      function: { name, description, parameters: parametersJsonSchema },
    })),
  };
}

function answered({ choices: [{ message }], usage }) {
  const calls = (message.tool_calls ?? []).map(({ id, function: { name, arguments: given } }) => ({
    functionCall: { id, name, args: JSON.parse(given) },
  }));
  return {
    candidates: [
      { index: 0, finishReason: 'STOP', content: { role: 'model', parts: calls.length ? calls : [{ text: message.content }] } },
    ],
    usageMetadata: {
      promptTokenCount: usage.prompt_tokens,
      candidatesTokenCount: usage.completion_tokens,
      totalTokenCount: usage.total_tokens,
    },
    modelVersion: process.env.MODEL,
  };
}

async function passOn(request, response) {
  const parts = [];
  for await (const part of request) parts.push(part);
  const answer = await fetch(`${process.env.OPENAI_BASE_URL}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(asked(JSON.parse(Buffer.concat(parts).toString()))),
  });
  const said = answer.ok ? JSON.stringify(answered(await answer.json())) : await answer.text();
  const streams = answer.ok && request.url.includes('stream');
  response.writeHead(answer.status, { 'content-type': streams ? 'text/event-stream' : 'application/json' });
  response.end(streams ? `data: ${said}\n\n` : said);
}

function serve() {
  const server = createServer(passOn);
  return new Promise((ready) => server.listen(0, '127.0.0.1', () => ready(server.address().port)));
}

function configure() {
  mkdirSync('home/.gemini', { recursive: true });
  writeFileSync('paris.txt', 'The final word: about 18 degrees and clear.');
  const security = { auth: { selectedType: 'gemini-api-key' } };
  writeFileSync('home/.gemini/settings.json', JSON.stringify({ ...JSON.parse(process.env.COPIED), security }));
}

async function ask(port, words, ...how) {
  const gemini = fileURLToPath(new URL('node_modules/.bin/gemini', import.meta.url));
  const environment = {
    ...process.env,
    HOME: `${process.cwd()}/home`,
    GEMINI_API_KEY: 'none',
    GOOGLE_GEMINI_BASE_URL: `http://127.0.0.1:${port}`,
    GEMINI_CLI_TRUST_WORKSPACE: 'true',
    GEMINI_CLI_NO_RELAUNCH: 'true',
  };
  const line = ['-m', process.env.MODEL, '--yolo', ...how, '-p', words];
  const running = promisify(execFile)(gemini, line, { env: environment });
  running.child.stdin.end();
  process.stdout.write((await running).stdout);
}

const port = await serve();
configure();
await ask(port, process.env.FIRST);
await ask(port, process.env.SECOND, '--resume', 'latest');
process.exit();
