/** Asks before what cannot be undone: says what is lost, does it, and shows why when it could not. */

import type { ReactNode } from "react";
import { Button } from "./controls.tsx";
import { Dialog } from "./floats.tsx";
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
          <Button onClick={close}>Keep</Button>
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
