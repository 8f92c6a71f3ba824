/** What can be copied of a message. */

import type { ReactElement } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import type { RecordedBytes } from "../../kit/byte-rows.ts";
import { Button } from "../../kit/controls.tsx";
import { copyText } from "../../kit/copy.tsx";
import { Menu } from "../../kit/floats.tsx";
import { useOnce } from "../../stores/live-data.ts";
import { curlOfIngest, harOfAttempts } from "./copy-as.ts";

type Message = AnswerOf<"messages.get">;
type Delivery = Message["deliveries"][number];

/** Bytes that are no text are copied in base64. */
const textOf = (bytes: RecordedBytes): string => (typeof bytes === "string" ? bytes : bytes.base64);

export function useCopyCurl(message: Message | undefined): () => void {
  const about = useOnce("about.get", {}).answer;
  return () => {
    if (message !== undefined && about !== undefined) void copyText(curlOfIngest(message, about.ingestUrl), "the cURL command");
  };
}

export function CopyMenu({ message, delivery }: { message: Message; delivery: Delivery | undefined }): ReactElement {
  const about = useOnce("about.get", {}).answer;
  const copyCurl = useCopyCurl(message);
  const attempts = message.deliveries.flatMap((each) => each.attempts);
  return (
    <Menu
      trigger={
        <Button small look="quiet" icon="copy" title="Copy; the key c copies the cURL command" shortcut="c">
          Copy
        </Button>
      }
      items={[
        { label: "cURL of the call that brought it", icon: "copy", hint: "c", onSelect: copyCurl },
        { label: "raw message", icon: "copy", onSelect: () => void copyText(textOf(message.raw), "the raw message") },
        {
          label: "payload",
          icon: "copy",
          disabled: delivery === undefined,
          onSelect: () => void copyText(textOf(delivery?.payload ?? ""), "the payload"),
        },
        { label: "messageId", icon: "copy", onSelect: () => void copyText(message.messageId, "the messageId") },
        "line",
        {
          label: "HAR of its attempts",
          icon: "copy",
          disabled: !attempts.some(({ request }) => request.sent),
          onSelect: () => void copyText(harOfAttempts(attempts, about?.version ?? ""), "the HAR"),
        },
      ]}
    />
  );
}
