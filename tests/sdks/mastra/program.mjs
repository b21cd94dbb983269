// An agent of Mastra, with its exporter for OpenTelemetry.

import { createOpenAI } from '@ai-sdk/openai';
import { Agent } from '@mastra/core/agent';
import { Mastra } from '@mastra/core/mastra';
import { createTool } from '@mastra/core/tools';
import { Observability } from '@mastra/observability';
import { OtelExporter } from '@mastra/otel-exporter';
import { z } from 'zod';

const get_weather = createTool({
  id: 'get_weather',
  description: 'The weather in a city.',
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => {
    if (city === 'Atlantis') throw new Error('The final answer: there is no weather of Atlantis.');
    return 'The final word: about 18 degrees and clear.';
  },
});
const weather_agent = new Agent({
  id: 'weather_agent',
  name: 'weather_agent',
  instructions: 'Be brief.',
  model: createOpenAI().chat(process.env.MODEL),
  tools: { get_weather },
});
const exporter = new OtelExporter({
  provider: { custom: { endpoint: `${process.env.OTEL_EXPORTER_OTLP_ENDPOINT}/v1/traces`, protocol: 'http/protobuf' } },
  signals: { logs: false },
});
const mastra = new Mastra({
  agents: { weather_agent },
  observability: new Observability({ configs: { otel: { serviceName: 'weather-app', exporters: [exporter] } } }),
  logger: false,
});

const agent = mastra.getAgent('weather_agent');
const messages = [];
for (const asked of [process.env.FIRST, process.env.SECOND]) {
  messages.push({ role: 'user', content: asked });
  const stream = await agent.stream(messages, { memory: { thread: 'travel-talk', resource: 'user-42' } });
  const text = await stream.text;
  messages.push(...(await stream.response).messages);
  process.stdout.write(`${text}\n`);
}
await mastra.shutdown();
