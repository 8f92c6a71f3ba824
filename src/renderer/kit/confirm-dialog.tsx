/**
 * Asks before what cannot be undone: says what is lost, does it, and shows why when it could not.
 */

import { type ReactNode, useState } from "react";
import { Button, IconButton } from "./controls.tsx";
import { Dialog, Menu, type MenuItem } from "./floats.tsx";
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

export function ConfirmDialog({
  open,
  onClose,
  title,
  children,
  action,
  onConfirm,
}: ConfirmDialogProps) {
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
          <Button look="primary" isBusy={isBusy} onClick={() => run(title, confirm)}>
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

type DeleteMenuProps = {
  name: string;
  label?: string;
  /** Above the one that deletes. */
  items?: readonly MenuItem[];
  verb?: "Delete" | "Remove";
  onDelete: () => Promise<unknown>;
  /** What is lost. */
  children: ReactNode;
};

/** The menu in an editor's heading that deletes the open item after a confirmation. */
export function DeleteMenu({
  name,
  label = "More: delete",
  items = [],
  verb = "Delete",
  onDelete,
  children,
}: DeleteMenuProps) {
  const [isAsking, setIsAsking] = useState(false);
  const item = verb === "Delete" ? "Delete…" : `Remove ${name}…`;
  return (
    <>
      <Menu
        trigger={<IconButton icon="more" small label={label} />}
        items={[...items, { label: item, icon: "deletions", onSelect: () => setIsAsking(true) }]}
      />
      <ConfirmDialog
        open={isAsking}
        onClose={() => setIsAsking(false)}
        title={`${verb} ${name}?`}
        action={verb}
        onConfirm={onDelete}
      >
        {children}
      </ConfirmDialog>
    </>
  );
}
