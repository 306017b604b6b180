import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { TaskDetails } from "../../../../../src/admin/admin.ts";
import { useServices } from "../../../api/services.ts";
import { may } from "../../../api/session.ts";
import { notify } from "../../../parts/notices.tsx";
import { navigate } from "../../../routing/location.ts";
import { ActDialog } from "./act-dialog.tsx";
import { ExtendDialog } from "./extend-dialog.tsx";
import { RerunDialog } from "./rerun-dialog.tsx";

interface ActBarProps {
  readonly task: TaskDetails;
  /** Called after the task was changed. */
  readonly onActed: () => void;
}

type Act = "unblock" | "cancel" | "rerun" | "extend" | "delete";

const names: Readonly<Record<Act, string>> = {
  unblock: "Try again…",
  cancel: "Cancel…",
  rerun: "Run again…",
  extend: "Extend…",
  delete: "Delete…",
};

/** The actions that the task's state and the operator's role allow. */
export function ActBar({ task, onActed }: ActBarProps): JSX.Element {
  const { session } = useServices();
  const [act, setAct] = useState<Act>();
  const acts = actsOn(task).filter((each) => each !== "delete" || may(session, "admin"));
  const close = (): void => setAct(undefined);
  return (
    <div class="acts" role="group" aria-label="Actions">
      {acts.map((each) => (
        <button
          key={each}
          type="button"
          class={each === "cancel" || each === "delete" ? "danger" : "quiet"}
          onClick={() => setAct(each)}
        >
          {names[each]}
        </button>
      ))}
      {act === "unblock" && <UnblockDialog task={task} onActed={onActed} onClose={close} />}
      {act === "cancel" && <CancelDialog task={task} onActed={onActed} onClose={close} />}
      {act === "rerun" && <RerunDialog task={task} onClose={close} />}
      {act === "extend" && <ExtendDialog task={task} onActed={onActed} onClose={close} />}
      {act === "delete" && <DeleteDialog task={task} onClose={close} />}
    </div>
  );
}

function actsOn({ finishedAt, blocked }: TaskDetails): readonly Act[] {
  if (finishedAt !== null) return ["rerun", "extend", "delete"];
  return blocked === null ? ["extend", "cancel"] : ["unblock", "extend", "cancel"];
}

interface ActDialogProps extends ActBarProps {
  readonly onClose: () => void;
}

function UnblockDialog({ task: { id }, onActed, onClose }: ActDialogProps): JSX.Element {
  const { admin, session } = useServices();
  const act = async (): Promise<void> => {
    await admin.as(session.actor).unblock(id);
    notify("Task tried again.");
    onActed();
  };
  return (
    <ActDialog title="Try this task again?" name="Try it now" act={act} onClose={onClose}>
      <p>
        A process that has the tool runs the task now. If the code still does not fit, the task stays blocked.
      </p>
    </ActDialog>
  );
}

function CancelDialog({ task: { id }, onActed, onClose }: ActDialogProps): JSX.Element {
  const { admin, session } = useServices();
  const act = async (): Promise<void> => {
    await admin.as(session.actor).cancel(id);
    notify("Task cancelled.");
    onActed();
  };
  return (
    <ActDialog title="Cancel this task?" name="Cancel the task" isDanger act={act} onClose={onClose}>
      <p>
        The task is cancelled, and its caller is notified. This cannot be undone, but you can run it again.
      </p>
    </ActDialog>
  );
}

interface DeleteDialogProps {
  readonly task: TaskDetails;
  readonly onClose: () => void;
}

function DeleteDialog({ task: { id }, onClose }: DeleteDialogProps): JSX.Element {
  const { base, admin, session } = useServices();
  const act = async (): Promise<void> => {
    await admin.as(session.actor).delete(id);
    notify("Task deleted.");
    navigate(`${base}/`);
  };
  return (
    <ActDialog title="Delete this task?" name="Delete the task" isDanger act={act} onClose={onClose}>
      <p>Everything stored about this task is deleted, including its result. This cannot be undone.</p>
    </ActDialog>
  );
}
