/**
 * Clients that send single and batch calls at the same time until told to stop, and know which
 * messages were answered with 200.
 */

export type Load = { accepted: Set<string>; stop(): Promise<void> };

const clients = 6;

const bought = (made: number) => ({
  type: "track",
  userId: `user-${made % 50}`,
  event: "Bought",
  properties: { made, text: "x".repeat(made % 700) },
});

export function startLoad({
  ingestUrl,
  writeKey,
  prefix,
  accepted,
  members = bought,
}: {
  ingestUrl: string;
  writeKey: string;
  prefix: string;
  accepted: Set<string>;
  /** What the message of each number has beside its id. */
  members?: (made: number) => Record<string, unknown>;
}): Load {
  let running = true;
  let made = 0;
  const message = (): Record<string, unknown> & { messageId: string } => {
    made += 1;
    return { ...members(made), messageId: `${prefix}-${made}` };
  };

  async function send(path: string, messageIds: string[], body: unknown): Promise<void> {
    const response = await fetch(ingestUrl + path, {
      method: "POST",
      headers: {
        Authorization: `Basic ${btoa(`${writeKey}:`)}`,
        "Content-Type": "application/json",
      },
      body: JSON.stringify(body),
    });
    // The answer is the status line: what is accepted is accepted, even if the connection breaks in
    // its body.
    if (response.status === 200) for (const id of messageIds) accepted.add(id);
    await response.arrayBuffer();
  }

  async function client(number: number): Promise<void> {
    while (running) {
      try {
        if (number % 2 === 0) {
          const single = message();
          await send("/v1/track", [single.messageId], single);
        } else {
          const batch = Array.from({ length: 1 + (made % 15) }, message);
          await send(
            "/v1/batch",
            batch.map(({ messageId }) => messageId),
            { batch },
          );
        }
      } catch {
        // The process is gone.
        running = false;
      }
      // A client of flesh: the machine has to carry the receiver and the deliveries too.
      await new Promise((resolve) => setTimeout(resolve, 15));
    }
  }

  const all = Promise.all(Array.from({ length: clients }, (_, number) => client(number)));
  return {
    accepted,
    async stop() {
      running = false;
      await all;
    },
  };
}
