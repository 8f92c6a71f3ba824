/** Reads server-sent events from a stream of bytes, as the specification of EventSource does. */

export type ServerSentEvent = { id: string | null; event: string; data: string };

export async function readEvents(
  stream: ReadableStream<Uint8Array>,
  onEvent: (event: ServerSentEvent) => void,
  { silenceMs, onSilence }: { silenceMs: number; onSilence: () => void },
): Promise<void> {
  const reader = stream.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let pending = "";
  let timer = window.setTimeout(onSilence, silenceMs);
  try {
    for (;;) {
      const { value, done } = await reader.read();
      window.clearTimeout(timer);
      if (done) return;
      timer = window.setTimeout(onSilence, silenceMs);
      const blocks = (pending + value).split("\n\n");
      pending = blocks.pop() ?? "";
      for (const block of blocks) onEvent(parse(block));
    }
  } finally {
    window.clearTimeout(timer);
  }
}

function parse(block: string): ServerSentEvent {
  let id: string | null = null;
  let event = "message";
  const data: string[] = [];
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon === 0) continue;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "id") id = value;
    else if (field === "event") event = value;
    else if (field === "data") data.push(value);
  }
  return { id, event: data.length === 0 && event === "message" ? "" : event, data: data.join("\n") };
}
