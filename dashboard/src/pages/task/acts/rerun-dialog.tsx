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

const fromStart = "from-start";
const finished = "finished";
/** Before the key of an entry. */
const after = "after ";

/** Runs an ended task again as a new one, from what succeeded or from the start, with its arguments or others. */
export function RerunDialog({ task, onClose }: RerunDialogProps): JSX.Element {
  const { base, admin, session } = useServices();
  const [given] = useState(() => JSON.stringify(task.arguments, null, 2));
  const [text, setText] = useState(given);
  const [start, setStart] = useState(task.retriedAs === null ? finished : fromStart);
  const [field, choice] = [useId(), useId()];
  const kept = task.timeline.filter(({ doneAt, error }) => doneAt !== null && error === null);
  const act = async (): Promise<void> => {
    const read = readJson(text);
    if ("problem" in read) throw new Error(read.problem);
    const fresh = await admin.as(session.actor).retry(task.id, {
      ...(text !== given && { arguments: read.value }),
      ...(start === fromStart && { fromStart: true }),
      ...(start.startsWith(after) && { keepUpTo: start.slice(after.length) }),
    });
    notify("Started this new task.");
    navigate(`${base}${taskPath(fresh.id)}`);
  };
  return (
    <ActDialog title="Run this task again" name="Run again" act={act} onClose={onClose}>
      <p>This starts a new task for the same caller. The old task stays, and names the new one.</p>
      <div class="field">
        <label for={choice}>Start</label>
        <select id={choice} value={start} onChange={({ currentTarget }) => setStart(currentTarget.value)}>
          {task.retriedAs === null && <option value={finished}>where it failed: keep what succeeded</option>}
          {kept.map(({ key }) => (
            <option key={key} value={`${after}${key}`}>
              after {key}
            </option>
          ))}
          <option value={fromStart}>from the start, as new</option>
        </select>
        <p class="about">{aboutStart(start, kept.length, text !== given)}</p>
      </div>
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

/** What is kept, and what is repeated. */
function aboutStart(start: string, kept: number, hasOtherArguments: boolean): string {
  if (start === fromStart)
    return `Everything runs again, also what succeeded (${kept === 1 ? "1 entry" : `${kept} entries`} of the timeline), with new idempotency keys. A payment that went through is made again.`;
  if (start.startsWith(after)) return "Results up to this point are kept. Later ones are computed again.";
  if (hasOtherArguments) return "Results for the old arguments are not kept. Idempotency keys stay the same.";
  return "Results of steps, questions and calls that succeeded are kept. The rest runs again, with the same idempotency keys.";
}
