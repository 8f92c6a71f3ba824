/** The name of what is open, in its heading, where it can be changed. What has just been made has its name selected. */

import { CommitField } from "../../kit/commit-field.tsx";
import { usePlace } from "../../stores/place.ts";

export function TitleField({ name, onRename }: { name: string; onRename: (name: string) => Promise<unknown> }) {
  const change = usePlace((place) => place.change);
  const isNew = usePlace((place) => place.query["name"] === "edit");
  return (
    <CommitField
      label="Name"
      shown="hidden"
      name="title-field"
      text={name}
      startsSelected={isNew}
      onCommit={async (text) => {
        await onRename(text);
        change({ query: { name: null } });
      }}
    />
  );
}
