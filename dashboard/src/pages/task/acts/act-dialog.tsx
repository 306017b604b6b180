import type { ComponentChildren, JSX } from "preact";
import { useAct } from "../../../live/use-act.ts";
import { Dialog } from "../../../parts/dialog.tsx";
import { Problem } from "../../../parts/problem.tsx";

interface ActDialogProps {
  readonly title: string;
  /** What the button says that does it. */
  readonly name: string;
  readonly isDanger?: boolean;
  /** Rejects with why it was not done, which is shown; the dialog stays. */
  readonly act: () => Promise<unknown>;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** Asks before something is done. */
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
