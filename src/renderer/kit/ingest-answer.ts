type Answer = { status: number; body: string };

/**
 * Why the ingest port did not accept a call; null when its answer names no reason. In explain mode
 * a rejected message gets 200 with its reason, in production mode 200 without.
 */
export function whyNotAccepted({ status, body }: Answer): string | null {
  const { message, rejected } = membersOf(body);
  if (status < 300) return textOf(rejected?.[0]?.message);
  const why = textOf(message);
  return `The ingest port answered ${status}.${why === null ? "" : ` ${why}`}`;
}

type Members = { message?: unknown; rejected?: readonly ({ message?: unknown } | null)[] };

function membersOf(body: string): Members {
  try {
    return (JSON.parse(body) as Members | null) ?? {};
  } catch {
    return {};
  }
}

const textOf = (value: unknown): string | null => (typeof value === "string" ? value : null);
