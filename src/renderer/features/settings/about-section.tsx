import { Copyable } from "../../kit/copy.tsx";
import { useOnce } from "../../stores/live-data.ts";

export function AboutSection() {
  const about = useOnce("about.get", {}).answer;
  if (about === undefined) return null;
  return (
    <div className="pairs">
      <span className="pair-name">Version</span>
      <span>Hookyard {about.version}</span>
      <span className="pair-name">Data directory</span>
      {about.dataDir === null ? (
        <span>none: the data is in memory and ends with the process</span>
      ) : (
        <Copyable value={about.dataDir} label="the data directory" />
      )}
      <span className="pair-name">Ingest</span>
      <Copyable value={about.ingestUrl} label="the ingest address" />
      <span className="pair-name">Test endpoints</span>
      <Copyable value={about.endpointsUrl} label="the address of the test endpoints" />
      <span className="pair-name">with TLS</span>
      <Copyable value={about.endpointsTlsUrl} label="the TLS address of the test endpoints" />
    </div>
  );
}
