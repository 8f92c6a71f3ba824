/** How a client is pointed here, with real values: whole programs that run as they are. */

import { shellQuoted } from "../../kit/shell-quoted.ts";

export const clientSnippetKinds = [
  "cURL",
  "Node",
  "Go",
  "Python",
  "Ruby",
  "PHP",
  "browser",
] as const;
export type ClientSnippetKind = (typeof clientSnippetKinds)[number];

type SnippetValues = { ingestUrl: string; writeKey: string };

export function clientSnippet(kind: ClientSnippetKind, values: SnippetValues): string {
  const { ingestUrl, writeKey } = values;
  const { host, hostname, port, protocol } = new URL(ingestUrl);
  return snippets[kind]({
    ...values,
    key: JSON.stringify(writeKey),
    url: JSON.stringify(ingestUrl),
    host,
    hostname,
    port,
    protocol,
  });
}

/** The key and the URL as JSON, and the parts of the URL. */
type Parts = SnippetValues &
  Record<"key" | "url" | "host" | "hostname" | "port" | "protocol", string>;

const snippets: Record<ClientSnippetKind, (parts: Parts) => string> = {
  cURL: ({ ingestUrl, writeKey }) => `curl ${ingestUrl}/v1/track \\
  -u ${shellQuoted(`${writeKey}:`)} \\
  -H 'Content-Type: application/json' \\
  -d '{"userId":"u_1042","event":"Order Completed",
       "properties":{"total":184.5,"currency":"EUR"}}'
`,
  Node: ({ key, url }) => `// npm install @segment/analytics-node
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
`,
  Go: ({ key, url }) => `// go get github.com/segmentio/analytics-go/v3
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
`,
  Python: ({ key, url }) => `# pip install segment-analytics-python
import segment.analytics as analytics

analytics.write_key = ${key}
analytics.host = ${url}

analytics.track("u_1042", "Order Completed", {"total": 184.5, "currency": "EUR"})
analytics.shutdown()
`,
  Ruby: ({ writeKey, hostname, port }) => `# gem install analytics-ruby
require "segment/analytics"

# The library takes \`ssl: false\` for a missing option, and goes on with TLS.
Segment::Analytics::Defaults::Request.send(:remove_const, :SSL)
Segment::Analytics::Defaults::Request::SSL = false

analytics = Segment::Analytics.new(
  write_key: ${rubyString(writeKey)},
  host: ${JSON.stringify(hostname)},
  port: ${port || "80"}
)
analytics.track(
  user_id: "u_1042",
  event: "Order Completed",
  properties: { total: 184.5, currency: "EUR" }
)
analytics.flush
`,
  PHP: ({ writeKey, host }) => `<?php // composer require segmentio/analytics-php
require "vendor/autoload.php";

use Segment\\Segment;

// The library has no option for plain HTTP.
class PlainHttp extends \\Segment\\Consumer\\LibCurl
{
    protected string $protocol = 'http://';
}

Segment::init(${phpString(writeKey)}, [
    'consumer' => PlainHttp::class,
    'host' => ${phpString(host)},
]);
Segment::track([
    'userId' => 'u_1042',
    'event' => 'Order Completed',
    'properties' => ['total' => 184.5, 'currency' => 'EUR'],
]);
Segment::flush();
`,
  browser: ({ key, url, host, protocol }) => `// npm install @segment/analytics-next
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
`,
};

/** JSON's escapes are Ruby's, where `#` may begin an expression. */
function rubyString(text: string): string {
  return JSON.stringify(text).replaceAll("#", "\\#");
}

function phpString(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
