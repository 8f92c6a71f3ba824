/** How a client is pointed here, with real values: whole programs that run as they are. */

export const snippetKinds = ["cURL", "Node", "Go", "browser"] as const;
export type SnippetKind = (typeof snippetKinds)[number];

type SnippetValues = { ingestUrl: string; writeKey: string };

export function clientSnippet(kind: SnippetKind, { ingestUrl, writeKey }: SnippetValues): string {
  const key = JSON.stringify(writeKey);
  const url = JSON.stringify(ingestUrl);
  const { host, protocol } = new URL(ingestUrl);
  switch (kind) {
    case "cURL":
      return `curl ${ingestUrl}/v1/track \\
  -u ${shellQuoted(`${writeKey}:`)} \\
  -H 'Content-Type: application/json' \\
  -d '{"userId":"u_1042","event":"Order Completed",
       "properties":{"total":184.5,"currency":"EUR"}}'
`;
    case "Node":
      return `// npm install @segment/analytics-node
import { Analytics } from "@segment/analytics-node";

const analytics = new Analytics({
  writeKey: ${key},
  host: ${url},
});
analytics.track({
  userId: "u_1042",
  event: "Order Completed",
  properties: { total: 184.5, currency: "EUR" },
});
await analytics.closeAndFlush();
`;
    case "Go":
      return `// go get github.com/segmentio/analytics-go/v3
package main

import "github.com/segmentio/analytics-go/v3"

func main() {
	client, err := analytics.NewWithConfig(${key}, analytics.Config{
		Endpoint: ${url},
	})
	if err != nil {
		panic(err)
	}
	defer client.Close()
	client.Enqueue(analytics.Track{
		UserId:     "u_1042",
		Event:      "Order Completed",
		Properties: analytics.NewProperties().Set("total", 184.5),
	})
}
`;
    case "browser":
      return `// npm install @segment/analytics-next
import { AnalyticsBrowser } from "@segment/analytics-next";

const analytics = AnalyticsBrowser.load(
  { writeKey: ${key}, cdnURL: ${url} },
  {
    integrations: {
      "Segment.io": {
        apiHost: ${JSON.stringify(`${host}/v1`)},
        protocol: ${JSON.stringify(protocol.replace(":", ""))},
      },
    },
  },
);
analytics.track("Order Completed", { total: 184.5, currency: "EUR" });
`;
  }
}

function shellQuoted(text: string): string {
  return /^[\w.:@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
