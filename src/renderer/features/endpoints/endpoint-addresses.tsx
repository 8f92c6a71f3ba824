/** Where a test endpoint listens: HTTP, and HTTPS under the host name whose certificate is wanted. */

import type { AnswerOf } from "../../../contract/contract.ts";
import { IconButton } from "../../kit/controls.tsx";
import { copyText } from "../../kit/copy.tsx";
import { Menu } from "../../kit/floats.tsx";
import { OutcomeGlyph } from "../../kit/glyph.tsx";
import { Icon } from "../../kit/icon.tsx";
import { usePlace } from "../../stores/place.ts";
import { certificateHosts, tlsUrlAt } from "./endpoint-address.ts";

export function EndpointAddresses({ endpoint }: { endpoint: AnswerOf<"endpoints.get"> }) {
  const chosen = usePlace((place) => place.query["host"]);
  const change = usePlace((place) => place.change);
  const certificate = certificateHosts.find(({ host }) => host === chosen) ?? certificateHosts[0];
  if (certificate === undefined) return null;
  const tlsUrl = tlsUrlAt(endpoint, certificate.host);
  return (
    <section className="section urls" aria-label="Addresses">
      <span className="muted">HTTP</span>
      <span className="copyable">
        <code className="clip grow">{endpoint.url}</code>
        <IconButton icon="copy" label="Copy the HTTP URL" onClick={() => void copyText(endpoint.url, "the HTTP URL")} />
      </span>
      <span className="muted">HTTPS</span>
      <span className="copyable">
        <code className="clip grow" title={tlsUrl}>
          {tlsUrl}
        </code>
        <Menu
          trigger={
            <button type="button" className="certificate" title={`Certificate: ${certificate.words}. Others by host name`}>
              <span className="sr">Certificate: {certificate.words}, ends in</span>
              {certificate.endsIn === null ? (
                "as programmed"
              ) : (
                <span className={`state tone ${certificate.endsIn}`}>
                  <OutcomeGlyph outcome={certificate.endsIn} />
                  {certificate.endsIn}
                </span>
              )}
              <Icon name="down" small />
            </button>
          }
          items={certificateHosts.map(({ host, words, endsIn }) => ({
            label: words,
            hint: endsIn ?? "as programmed",
            onSelect: () => change({ query: { host: host === certificateHosts[0]?.host ? null : host } }),
          }))}
        />
        <IconButton icon="copy" label="Copy the HTTPS URL" onClick={() => void copyText(tlsUrl, "the HTTPS URL")} />
      </span>
    </section>
  );
}
