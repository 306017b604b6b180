import type { JSX } from "preact";
import type { AdminAction } from "../../../../src/admin/admin.ts";
import { useNow } from "../../live/use-now.ts";
import { Json } from "../../parts/json.tsx";
import { Ago } from "../../parts/time.tsx";
import { Link } from "../../routing/link.tsx";
import { taskPath } from "../../routing/task-path.ts";
import { actionText, ranAgainAs, webhookOf } from "./action-text.ts";

export function ActionTable({ actions }: { readonly actions: readonly AdminAction[] }): JSX.Element {
  const now = useNow();
  return (
    <div class="scroll" role="group" aria-label="Operator actions" tabIndex={0}>
      <table class="wide">
        <caption class="hidden">Operator actions, newest first</caption>
        <thead>
          <tr>
            <th scope="col">When</th>
            <th scope="col">Operator</th>
            <th scope="col">Action</th>
            <th scope="col">Task</th>
            <th scope="col">Tool</th>
            <th scope="col">Details</th>
          </tr>
        </thead>
        <tbody>
          {actions.map((action) => (
            <Row key={action.seq} action={action} now={now} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({ action, now }: { readonly action: AdminAction; readonly now: number }): JSX.Element {
  const { seq, at, actor, tool, detail } = action;
  const webhook = webhookOf(action);
  return (
    <tr>
      <td>
        <Ago at={at} now={now} />
      </td>
      <td>{actor}</td>
      <td>
        {actionText(action)}
        {webhook !== null && `: ${webhook}`}
      </td>
      <td>
        <Tasks action={action} />
      </td>
      <td>
        {tool !== null && <Link to={`/tools?${new URLSearchParams({ tool }).toString()}`}>{tool}</Link>}
      </td>
      <td>
        {detail !== null && (
          <details>
            <summary>
              Details<span class="hidden"> of action {seq}</span>
            </summary>
            <Json value={detail} label={`Details of action ${seq}`} />
          </details>
        )}
      </td>
    </tr>
  );
}

function Tasks({ action }: { readonly action: AdminAction }): JSX.Element | null {
  const { taskId } = action;
  const again = ranAgainAs(action);
  if (taskId === null) return null;
  if (action.action === "delete") return <span class="task faint">{taskId}</span>;
  return (
    <>
      <Link to={taskPath(taskId)} class="task">
        {taskId}
      </Link>
      {again !== null && (
        <div>
          as{" "}
          <Link to={taskPath(again)} class="task">
            {again}
          </Link>
        </div>
      )}
    </>
  );
}
