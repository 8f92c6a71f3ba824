import { startScript } from "./children.ts";
import type { Load, Sent } from "./sender.ts";

/** Answered requests per second. */
export async function sendLoad(load: Load): Promise<number> {
  const sender = startScript("sender.ts", load);
  try {
    await sender.answer();
    sender.send({});
    const { startedAt, endedAt } = await sender.answer<Sent>();
    return (load.requests * 1000) / (endedAt - startedAt);
  } finally {
    await sender.stop();
  }
}
