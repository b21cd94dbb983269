// The Vercel AI SDK with its provider for OpenAI, which asks the Responses API.

import assert from 'node:assert/strict';

import { createOpenAI } from '@ai-sdk/openai';
import { generateText, isStepCount, Output, streamText, tool } from 'ai';
import { z } from 'zod';

const { run, script } = await import(process.env.CHECKS);
const openai = createOpenAI();
const model = openai(process.env.MODEL);

const ROUNDS = script(
  'think Let me see.',
  'call get_weather {"city": "Paris"}',
  'call get_weather {"city": "Rome"}',
  'then',
  'call get_weather {"city": "Oslo"}',
  'then',
  'say Sunny in all three.',
);
const BOIL = script('call get_boiling_point {"liquid_name": "polyjuice"}', 'then', 'say Minus one hundred.');
const WEATHER = ['Sunny in Paris.', 'Sunny in Rome.', 'Sunny in Oslo.'];
const Forecast = z.object({ city: z.string(), degrees: z.number() });

const get_weather = tool({
  description: 'The weather in a city.',
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `Sunny in ${city}.`,
});

const asking = (more) => ({ model, system: 'Be brief.', tools: { get_weather }, stopWhen: isStepCount(5), ...more });
const results = (steps) => steps.flatMap((step) => step.toolResults.map((result) => result.output));

async function tools() {
  const result = await generateText(asking({ prompt: ROUNDS }));
  assert.equal(result.text, 'Sunny in all three.');
  assert.deepEqual(results(result.steps), WEATHER);
  assert.ok(result.usage.outputTokens > 0);
}

async function streaming() {
  const result = streamText(asking({ prompt: ROUNDS, onError: ({ error }) => { throw error; } }));
  let words = '';
  for await (const part of result.textStream) words += part;
  assert.equal(words, 'Sunny in all three.');
  assert.deepEqual(results(await result.steps), WEATHER);
}

async function structured_output() {
  const output = Output.object({ schema: Forecast });
  const result = await generateText({ model, prompt: 'Tomorrow in Rome?', output });
  Forecast.parse(result.output);
  const streamed = streamText({ model, prompt: 'Tomorrow in Rome?', output });
  Forecast.parse(await streamed.output);
}

async function several_turns() {
  for (const store of [true, false]) {
    const messages = [{ role: 'user', content: ROUNDS }];
    const first = await generateText(asking({ messages, providerOptions: { openai: { store } } }));
    messages.push(...first.response.messages, { role: 'user', content: script('say Again.') });
    const second = await generateText(asking({ messages, providerOptions: { openai: { store } } }));
    assert.equal(second.text, 'Again.');
  }
}

async function previous_response() {
  const first = await generateText({ model, prompt: script('say My name is Ana.') });
  const previousResponseId = first.providerMetadata.openai.responseId;
  const options = { providerOptions: { openai: { previousResponseId } } };
  const second = await generateText({ model, prompt: script('say Ana.'), ...options });
  assert.equal(second.text, 'Ana.');
}

async function unstored_reasoning() {
  const options = { store: false, forceReasoning: true, reasoningSummary: 'auto' };
  const asked = { role: 'user', content: ROUNDS };
  const result = await generateText(asking({ messages: [asked], providerOptions: { openai: options } }));
  assert.equal(result.text, 'Sunny in all three.');
  const [thought] = result.steps.flatMap((step) => step.content).filter((part) => part.type === 'reasoning');
  assert.ok(thought.providerMetadata.openai.reasoningEncryptedContent);
  const messages = [asked, ...result.response.messages, { role: 'user', content: script('say Again.') }];
  const again = await generateText(asking({ messages, providerOptions: { openai: options } }));
  assert.equal(again.text, 'Again.');
}

const lab = (requireApproval) =>
  openai.tools.mcp({ serverLabel: 'lab', serverUrl: process.env.MCP_SERVER, requireApproval });

async function hosted_mcp() {
  const result = await generateText({ model, prompt: BOIL, tools: { mcp: lab('never') } });
  assert.equal(result.text, 'Minus one hundred.');
  const [call] = result.content.filter((part) => part.type === 'tool-result');
  assert.equal(call.output.output, '-100');
}

async function hosted_mcp_approval() {
  const messages = [{ role: 'user', content: BOIL }];
  const asked = await generateText({ model, messages, tools: { mcp: lab('always') } });
  const [request] = asked.content.filter((part) => part.type === 'tool-approval-request');
  assert.ok(request, JSON.stringify(asked.content));
  const response = { type: 'tool-approval-response', approvalId: request.approvalId, approved: true, providerExecuted: true };
  messages.push(...asked.response.messages, { role: 'tool', content: [response] });
  const result = await generateText({ model, messages, tools: { mcp: lab('always') } });
  assert.equal(result.text, 'Minus one hundred.');
}

await run(
  tools,
  streaming,
  structured_output,
  several_turns,
  previous_response,
  unstored_reasoning,
  hosted_mcp,
  hosted_mcp_approval,
);
