/** The menu in an editor's heading that deletes what is open, once it was asked and said what is lost. */

import { useState, type ReactNode } from "react";
import { ConfirmDialog } from "./confirm-dialog.tsx";
import { IconButton } from "./controls.tsx";
import { Menu } from "./floats.tsx";

export function DeleteMenu({
  name,
  onDelete,
  children,
}: {
  name: string;
  onDelete: () => Promise<unknown>;
  /** What is lost. */ children: ReactNode;
}) {
  const [isAsking, setIsAsking] = useState(false);
  return (
    <>
      <Menu
        trigger={<IconButton icon="more" small label="More: delete" />}
        items={[{ label: "Delete…", icon: "deletions", onSelect: () => setIsAsking(true) }]}
      />
      <ConfirmDialog open={isAsking} onClose={() => setIsAsking(false)} title={`Delete ${name}?`} action="Delete" onConfirm={onDelete}>
        {children}
      </ConfirmDialog>
    </>
  );
}
