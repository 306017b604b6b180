import type { ComponentChildren, JSX } from "preact";
import { useAct } from "../../../live/use-act.ts";
import { Dialog } from "../../../parts/dialog.tsx";
import { Problem } from "../../../parts/problem.tsx";

interface ActDialogProps {
  readonly title: string;
  /** The label of the confirming button. */
  readonly name: string;
  readonly isDanger?: boolean;
  /** Rejects with the reason for a failure, which is shown; the dialog stays open. */
  readonly act: () => Promise<unknown>;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** Asks for confirmation of an action. */
export function ActDialog({
  title,
  name,
  isDanger = false,
  act,
  onClose,
  children,
}: ActDialogProps): JSX.Element {
  const { isBusy, error, run } = useAct();
  const submit = async (): Promise<void> => {
    if (await run(act)) onClose();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        {children}
        {error !== undefined && <Problem error={error} />}
        <div class="buttons">
          <button type="button" class="quiet" onClick={onClose}>
            Close
          </button>
          <button type="submit" class={isDanger ? "danger" : ""} disabled={isBusy}>
            {name}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
