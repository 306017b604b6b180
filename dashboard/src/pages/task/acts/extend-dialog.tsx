import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";
import type { TaskDetails } from "../../../../../src/admin/admin.ts";
import { useServices } from "../../../api/services.ts";
import { localTimeIn, localTimeText } from "../../../parts/local-time.ts";
import { notify } from "../../../parts/notices.tsx";
import { fullTime } from "../../../parts/time.tsx";
import { ActDialog } from "./act-dialog.tsx";

const dayMs = 86_400_000;

interface ExtendDialogProps {
  readonly task: TaskDetails;
  readonly onActed: () => void;
  readonly onClose: () => void;
}

/** How long a task may run, or is kept. Initially a day longer than now. */
export function ExtendDialog({ task, onActed, onClose }: ExtendDialogProps): JSX.Element {
  const { id, finishedAt, expiresAt } = task;
  const { admin, session } = useServices();
  const [isEndless, setEndless] = useState(false);
  const [text, setText] = useState(() => localTimeText(Math.max(Date.now(), expiresAt ?? 0) + dayMs));
  const field = useId();
  const act = async (): Promise<void> => {
    const until = isEndless ? null : localTimeIn(text);
    if (until === undefined) throw new Error("Enter a date and a time.");
    await admin.as(session.actor).extend(id, until);
    notify(
      until === null
        ? finishedAt === null
          ? "The task no longer has a deadline."
          : "The task is kept until someone deletes it."
        : `Extended until ${fullTime(until)}.`,
    );
    onActed();
  };
  return (
    <ActDialog title="Extend this task" name="Extend the task" act={act} onClose={onClose}>
      <p>
        {finishedAt === null ? "It may run " : "It is kept "}
        {expiresAt === null ? "indefinitely." : `until ${fullTime(expiresAt)}.`}
      </p>
      <div class="field">
        <label for={field}>{finishedAt === null ? "May run until" : "Keep until"}</label>
        <input
          id={field}
          type="datetime-local"
          step="1"
          value={text}
          disabled={isEndless}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
      </div>
      <div class="field">
        <label>
          <input
            type="checkbox"
            checked={isEndless}
            onChange={({ currentTarget }) => setEndless(currentTarget.checked)}
          />
          Indefinitely
        </label>
      </div>
    </ActDialog>
  );
}
