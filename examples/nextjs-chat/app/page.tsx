'use client';

import { useChat } from '@ai-sdk/react';
import { useState } from 'react';
import type { Message } from './api/chat/route';

export default function Chat() {
  const { messages, sendMessage, status, error } = useChat<Message>();
  const [text, setText] = useState('');
  const log = messages.findLast((message) => message.metadata)?.metadata?.log;

  return (
    <main>
      <h1>Chat</h1>
      {messages.map((message) => (
        <section key={message.id}>
          <b>{message.role === 'user' ? 'You' : 'Shop'}</b>
          {message.parts.map((part, index) => {
            if (part.type === 'text') {
              return (
                <p key={index} style={{ whiteSpace: 'pre-wrap' }}>
                  {part.text}
                </p>
              );
            }
            return part.type === 'dynamic-tool' ? <p key={index}>… {part.toolName}</p> : null;
          })}
        </section>
      ))}
      {error && <p role="alert">{error.message}</p>}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void sendMessage({ text });
          setText('');
        }}
      >
        <input
          aria-label="Message"
          value={text}
          onChange={(event) => setText(event.target.value)}
          placeholder="Where is order 8841?"
        />
        <button disabled={!text.trim() || (status !== 'ready' && status !== 'error')}>Send</button>
      </form>
      {log && <a href={log}>This chat in the log</a>}
    </main>
  );
}
