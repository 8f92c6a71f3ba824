/** Asks before what cannot be undone: says what is lost, does it, and shows why when it could not. */

import { useState, type ReactNode } from "react";
import { Button } from "./controls.tsx";
import { Dialog } from "./floats.tsx";
import { ProblemText } from "./problem.tsx";

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
  const [isRunning, setIsRunning] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const close = (): void => {
    setError(null);
    onClose();
  };
  const run = async (): Promise<void> => {
    setIsRunning(true);
    try {
      await onConfirm();
      close();
    } catch (raised) {
      setError(raised instanceof Error ? raised : new Error(String(raised)));
    } finally {
      setIsRunning(false);
    }
  };
  return (
    <Dialog
      open={open}
      onClose={close}
      title={title}
      actions={
        <>
          <Button onClick={close}>Keep</Button>
          <Button look="primary" disabled={isRunning} onClick={() => void run()}>
            {action}
          </Button>
        </>
      }
    >
      {children}
      <ProblemText error={error} />
    </Dialog>
  );
}
