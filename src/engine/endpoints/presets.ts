/** Programs for the usual cases. With a `host`, the fault is the certificate that the HTTPS port shows for that name. */

import type { Step } from "../../domain/configuration.ts";
import type { EndpointPreset } from "../pipeline.ts";
import type { CertificateHost } from "./authority.ts";

const ok: Step = { do: "answer", status: 200 };

export const presets: EndpointPreset[] = [
  preset("always-200", "Always 200", ok),
  preset("503-three-times", "503 three times, then 200", { do: "answer", status: 503, times: 3 }, ok),
  preset("times-out", "Times out", { do: "hang" }),
  preset("flaky-30", "Flaky: 30 % of the requests get 503", { do: "answer", status: 503, chance: 0.3 }, ok),
  preset("resets", "Resets the connection", { do: "reset" }),
  preset("closes", "Closes without an answer", { do: "close" }),
  preset("garbage", "Answers with garbage", { do: "garbage" }),
  preset("cut-short", "Cuts the answer short", { do: "truncate" }),
  preset("drips", "Drips the answer over 10 s", { do: "drip" }),
  preset("slow", "Slow: 200 after 4.5 s", { ...ok, delayMs: 4_500 }),
  preset("redirects", "Redirects", { do: "redirect", status: 302 }),
  certificatePreset("self-signed.localhost", "Self-signed certificate"),
  certificatePreset("expired.localhost", "Expired certificate"),
  certificatePreset("wrong-host.localhost", "Certificate for another host"),
  certificatePreset("valid.localhost", "Valid certificate"),
];

function preset(name: string, title: string, ...steps: Step[]): EndpointPreset {
  return { name, title, steps, after: "repeat-last" };
}

function certificatePreset(host: CertificateHost, title: string): EndpointPreset {
  return { ...preset(`${host.replace(".localhost", "")}-certificate`, title, ok), host };
}
