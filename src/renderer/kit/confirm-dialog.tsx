/** Asks before what cannot be undone: says what is lost, does it, and shows why when it could not. */

import { type ReactNode, useState } from "react";
import { Button, IconButton } from "./controls.tsx";
import { Dialog, Menu } from "./floats.tsx";
import { ProblemText } from "./problem.tsx";
import { useAction } from "./use-action.ts";

type ConfirmDialogProps = {
  open: boolean;
  onClose: () => void;
  title: string;
  /** What is lost. */
  children: ReactNode;
  /** The verb. */
  action: string;
  onConfirm: () => Promise<unknown>;
};

export function ConfirmDialog({ open, onClose, title, children, action, onConfirm }: ConfirmDialogProps) {
  const { problem, isBusy, run, clear } = useAction();
  const close = (): void => {
    clear();
    onClose();
  };
  const confirm = async (): Promise<void> => {
    await onConfirm();
    close();
  };
  return (
    <Dialog
      open={open}
      onClose={close}
      title={title}
      actions={
        <>
          <Button onClick={close}>Cancel</Button>
          <Button look="primary" isBusy={isBusy} onClick={() => run(confirm)}>
            {action}
          </Button>
        </>
      }
    >
      {children}
      <ProblemText error={problem} />
    </Dialog>
  );
}

/** The menu in an editor's heading that deletes the open item after a confirmation. */
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
