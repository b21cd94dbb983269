// An agent of the Vercel AI SDK, with its OpenTelemetry integration.

import { createOpenAI } from '@ai-sdk/openai';
import { OpenTelemetry } from '@ai-sdk/otel';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { generateText, isStepCount, registerTelemetry, tool } from 'ai';
import { z } from 'zod';

const telemetry = new NodeSDK({ traceExporter: new OTLPTraceExporter() });
telemetry.start();
// the SDK has no sessions: this names one
registerTelemetry(new OpenTelemetry({ enrichSpan: () => ({ 'gen_ai.conversation.id': 'travel-talk' }) }));

const openai = createOpenAI();
const get_weather = tool({
  description: 'The weather in a city.',
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => {
    if (city === 'Atlantis') throw new Error('The final answer: there is no weather of Atlantis.');
    return 'The final word: about 18 degrees and clear.';
  },
});

const messages = [];
for (const asked of [process.env.FIRST, process.env.SECOND]) {
  messages.push({ role: 'user', content: asked });
  const result = await generateText({
    model: openai.chat(process.env.MODEL),
    system: 'Be brief.',
    messages,
    tools: { get_weather },
    stopWhen: isStepCount(4),
    telemetry: { isEnabled: true, functionId: 'weather-agent' },
  });
  messages.push(...result.response.messages);
  process.stdout.write(`${result.text}\n`);
}
await telemetry.shutdown();
