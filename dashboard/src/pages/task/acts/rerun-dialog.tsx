import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";
import type { TaskDetails } from "../../../../../src/admin/admin.ts";
import { useServices } from "../../../api/services.ts";
import { notify } from "../../../parts/notices.tsx";
import { taskPath } from "../../../routing/task-path.ts";
import { navigate } from "../../../routing/location.ts";
import { readJson } from "../questions/form-content.ts";
import { ActDialog } from "./act-dialog.tsx";

interface RerunDialogProps {
  readonly task: TaskDetails;
  readonly onClose: () => void;
}

/** Runs an ended task again as a new one, whole or from a step on, with its arguments or others. */
export function RerunDialog({ task, onClose }: RerunDialogProps): JSX.Element {
  const { base, admin, session } = useServices();
  const [given] = useState(() => JSON.stringify(task.arguments, null, 2));
  const [text, setText] = useState(given);
  const [keepUpTo, setKeepUpTo] = useState("");
  const [field, choice] = [useId(), useId()];
  const kept = task.timeline.filter(({ doneAt, error }) => doneAt !== null && error === null);
  const act = async (): Promise<void> => {
    const read = readJson(text);
    if ("problem" in read) throw new Error(read.problem);
    const fresh = await admin.as(session.actor).retry(task.id, {
      ...(text !== given && { arguments: read.value }),
      ...(keepUpTo !== "" && { keepUpTo }),
    });
    notify("Started this new task.");
    navigate(`${base}${taskPath(fresh.id)}`);
  };
  return (
    <ActDialog title="Run this task again" name="Run again" act={act} onClose={onClose}>
      <p>This starts a new task for the same caller. The old task does not change.</p>
      {kept.length > 0 && (
        <div class="field">
          <label for={choice}>Start</label>
          <select
            id={choice}
            value={keepUpTo}
            onChange={({ currentTarget }) => setKeepUpTo(currentTarget.value)}
          >
            <option value="">from the beginning</option>
            {kept.map(({ key }) => (
              <option key={key} value={key}>
                after {key}
              </option>
            ))}
          </select>
          <p class="about">Results up to this point are reused instead of being computed again.</p>
        </div>
      )}
      <div class="field">
        <label for={field}>Arguments</label>
        <textarea
          id={field}
          class="code"
          rows={10}
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
      </div>
    </ActDialog>
  );
}
