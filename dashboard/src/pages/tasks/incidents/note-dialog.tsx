import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";
import type { Incident } from "../../../../../src/admin/incident-operations.ts";
import { useServices } from "../../../api/services.ts";
import { useAct } from "../../../live/use-act.ts";
import { Dialog } from "../../../parts/dialog.tsx";
import { Problem } from "../../../parts/problem.tsx";

interface NoteDialogProps {
  readonly incident: Incident;
  readonly onClose: () => void;
}

/** What other operators should know of a cause. */
export function NoteDialog({ incident: { cause, note }, onClose }: NoteDialogProps): JSX.Element {
  const { admin, session } = useServices();
  const [text, setText] = useState(note ?? "");
  const { isBusy, error, run } = useAct();
  const field = useId();
  const save = async (): Promise<void> => {
    if (await run(() => admin.as(session.actor).mark(cause, { note: text }))) onClose();
  };
  return (
    <Dialog title="Note for other operators" onClose={onClose}>
      <div class="field">
        <label for={field}>Note</label>
        <textarea
          id={field}
          rows={3}
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
      </div>
      {error !== undefined && <Problem error={error} />}
      <div class="buttons">
        <button type="button" class="quiet" onClick={onClose}>
          Close
        </button>
        <button type="button" disabled={isBusy} onClick={() => void save()}>
          Save the note
        </button>
      </div>
    </Dialog>
  );
}
