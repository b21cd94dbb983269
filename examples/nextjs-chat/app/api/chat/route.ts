import { createOpenAI } from '@ai-sdk/openai';
import { convertToModelMessages, streamText, type UIMessage } from 'ai';

/** What an answer tells the page: the conversation it belongs to, and where that is in the log. */
export type Message = UIMessage<{ conversation: string; log: string }>;

const server = process.env.TURNLOG_URL ?? 'http://localhost:8321';
const apiKey = process.env.TURNLOG_API_KEY ?? 'none';
const turnlog = createOpenAI({ baseURL: `${server}/v1`, apiKey });

let agent: Promise<string> | undefined;

async function post(path: string, body: object): Promise<Record<string, string>> {
  const answer = await fetch(`${server}/v1/${path}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${apiKey}` },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

/** Make the agent that answers. Its tools run on the server, so the chat needs none. */
async function makeAgent(): Promise<string> {
  const config = {
    name: 'shop chat',
    model: process.env.TURNLOG_MODEL ?? 'scripted/demo',
    instructions: 'You are the assistant of a small shop. Be short.',
    toolgroups: ['builtin::demo'],
    enable_session_persistence: true,
  };
  return (await post('agents', { agent_config: config })).agent_id;
}

export async function POST(request: Request) {
  const { id, messages }: { id: string; messages: Message[] } = await request.json();
  agent ??= makeAgent().catch((error) => {
    agent = undefined; // the next request tries again
    throw error;
  });
  const known = messages.findLast((message) => message.metadata)?.metadata?.conversation;
  const conversation = known ?? (await post('conversations', { metadata: { name: `Chat ${id}` } })).id;
  const result = streamText({
    model: turnlog.responses(`agent/${await agent}`),
    // the server has the conversation: only what is new is sent
    messages: await convertToModelMessages(messages.slice(-1)),
    providerOptions: { openai: { conversation, metadata: { chat: id } } },
  });
  const log = `${server}/logs/?q=${encodeURIComponent(`meta.chat:${id}`)}`;
  return result.toUIMessageStreamResponse<Message>({
    messageMetadata: ({ part }) => (part.type === 'start' ? { conversation, log } : undefined),
  });
}
