/** How a client is pointed here, with real values: whole programs that run as they are. */

import {
  pointingLines,
  type LibraryId,
  type PointingLines,
} from "../../../domain/client-libraries.ts";

/** Always offered. */
export const usualSnippetKinds = [
  "cURL",
  "Node",
  "Go",
  "Python",
  "Ruby",
  "PHP",
  "browser",
] as const;
export const clientSnippetKinds = [
  ...usualSnippetKinds,
  "Node 6",
  "Java",
  "RudderStack",
  "React Native",
] as const;
export type ClientSnippetKind = (typeof clientSnippetKinds)[number];

type SnippetValues = { ingestUrl: string; writeKey: string };

export function clientSnippet(kind: ClientSnippetKind, values: SnippetValues): string {
  return snippets[kind]({
    ...pointingLines(libraries[kind], values),
    protocol: new URL(values.ingestUrl).protocol.replace(":", ""),
  });
}

const libraries: Record<ClientSnippetKind, LibraryId> = {
  cURL: "curl",
  Node: "node",
  Go: "go",
  Python: "python",
  Ruby: "ruby",
  PHP: "php",
  browser: "browser",
  "Node 6": "node-classic",
  Java: "java",
  RudderStack: "rudderstack",
  "React Native": "react-native",
};

/** The program for a library that was recognised; null when there is none. */
export function snippetKindOf(library: string | null): ClientSnippetKind | null {
  const id = library === "go-classic" ? "go" : library;
  return clientSnippetKinds.find((kind) => libraries[kind] === id) ?? null;
}

type Parts = PointingLines & { protocol: string };

const snippets: Record<ClientSnippetKind, (parts: Parts) => string> = {
  cURL: ({ address, key }) => `${address} \\
  ${key} \\
  -H 'Content-Type: application/json' \\
  -d '{"userId":"u_1042","event":"Order Completed",
       "properties":{"total":184.5,"currency":"EUR"}}'
`,
  Node: ({ address, key }) => `// npm install @segment/analytics-node
import { Analytics } from "@segment/analytics-node";

const analytics = new Analytics({
  ${key}
  ${address}
});
analytics.track({
  userId: "u_1042",
  event: "Order Completed",
  properties: { total: 184.5, currency: "EUR" },
});
await analytics.closeAndFlush();
`,
  Go: ({ address, key }) => `// go get github.com/segmentio/analytics-go/v3
package main

import "github.com/segmentio/analytics-go/v3"

func main() {
	client, err := ${key}
		${address}
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
`,
  Python: ({ address, key }) => `# pip install segment-analytics-python
import segment.analytics as analytics

${key}
${address}

analytics.track("u_1042", "Order Completed", {"total": 184.5, "currency": "EUR"})
analytics.shutdown()
`,
  Ruby: ({ address, key }) => `# gem install analytics-ruby
require "segment/analytics"

# The library takes \`ssl: false\` for a missing option, and goes on with TLS.
Segment::Analytics::Defaults::Request.send(:remove_const, :SSL)
Segment::Analytics::Defaults::Request::SSL = false

analytics = Segment::Analytics.new(
  ${key}
  ${address}
)
analytics.track(
  user_id: "u_1042",
  event: "Order Completed",
  properties: { total: 184.5, currency: "EUR" }
)
analytics.flush
`,
  PHP: ({ address, key }) => `<?php // composer require segmentio/analytics-php
require "vendor/autoload.php";

use Segment\\Segment;

// The library has no option for plain HTTP.
class PlainHttp extends \\Segment\\Consumer\\LibCurl
{
    protected string $protocol = 'http://';
}

${key}
    'consumer' => PlainHttp::class,
    ${address}
]);
Segment::track([
    'userId' => 'u_1042',
    'event' => 'Order Completed',
    'properties' => ['total' => 184.5, 'currency' => 'EUR'],
]);
Segment::flush();
`,
  browser: ({ address, key, protocol }) => `// npm install @segment/analytics-next
import { AnalyticsBrowser } from "@segment/analytics-next";

const analytics = AnalyticsBrowser.load(
  ${key}
  {
    integrations: {
      "Segment.io": {
        ${address}
        protocol: ${JSON.stringify(protocol)},
      },
    },
  },
);
analytics.track("Order Completed", { total: 184.5, currency: "EUR" });
`,
  "Node 6": ({ address, key }) => `// npm install analytics-node@6
import Analytics from "analytics-node";

const analytics = ${key}
  ${address}
});
analytics.track({
  userId: "u_1042",
  event: "Order Completed",
  properties: { total: 184.5, currency: "EUR" },
});
await analytics.flush();
`,
  Java: ({ address, key }) => `// com.segment.analytics.java:analytics:3.5.4
import com.segment.analytics.Analytics;
import com.segment.analytics.messages.TrackMessage;
import java.util.Map;

class Shop {
  public static void main(String[] args) {
    Analytics analytics = ${key}
        ${address}
        .build();
    analytics.enqueue(TrackMessage.builder("Order Completed")
        .userId("u_1042")
        .properties(Map.of("total", 184.5, "currency", "EUR")));
    analytics.shutdown();
  }
}
`,
  RudderStack: ({ address, key }) => `// npm install @rudderstack/analytics-js
import { RudderAnalytics } from "@rudderstack/analytics-js/bundled";

const analytics = new RudderAnalytics();
${key}
  ${address}
});
analytics.track("Order Completed", { total: 184.5, currency: "EUR" });
`,
  "React Native": ({ address, key }) => `// npm install @segment/analytics-react-native
import { createClient } from "@segment/analytics-react-native";

const analytics = createClient({
  ${key}
  useSegmentEndpoints: true,
  ${address}
});
analytics.track("Order Completed", { total: 184.5, currency: "EUR" });
`,
};
