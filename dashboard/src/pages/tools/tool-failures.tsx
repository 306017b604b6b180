import type { JSX } from "preact";
import { useServices } from "../../api/services.ts";
import { useLoaded } from "../../live/use-loaded.ts";
import { useNow } from "../../live/use-now.ts";
import { LoadedTable } from "../../parts/loaded-table.tsx";
import { Ago, durationText } from "../../parts/time.tsx";
import { Link } from "../../routing/link.tsx";
import { taskPath } from "../../routing/task-path.ts";
import { tasksPath } from "../tasks/task-filter.ts";

/** The number of tasks to read each time. */
const newestFailed = 1_000;
const newestEnded = 200;
const failuresRestMs = 5_000;
const latencyRestMs = 30_000;

/** Why tasks of a tool failed. */
export function ToolFailures({ tool }: { readonly tool: string }): JSX.Element {
  const { admin } = useServices();
  const now = useNow();
  const load = useLoaded(tool, () => admin.failures(tool, newestFailed), { restMs: failuresRestMs });
  return (
    <LoadedTable
      title="Failures by cause"
      aside={<Link to={tasksPath({ tool, states: ["failed"] })}>All failed tasks of {tool}</Link>}
      note={`The most recent ${newestFailed.toLocaleString()} failed tasks. Those whose messages differ only in ids, numbers and quoted values are counted together.`}
      loaded={load}
      rows={load.value}
      keyOf={({ cause }) => cause}
      empty="This tool has no failed tasks."
      columns={[
        {
          title: "Message",
          class: "message",
          cell: ({ message }) => <span class="error">{message === "" ? "No message" : message}</span>,
        },
        { title: "Tasks", isNumber: true, cell: ({ count }) => count.toLocaleString() },
        { title: "First", class: "minor", cell: ({ firstAt }) => <Ago at={firstAt} now={now} /> },
        { title: "Last", cell: ({ lastAt }) => <Ago at={lastAt} now={now} /> },
        { title: "Newest task", cell: ({ taskId }) => <TaskLink id={taskId} /> },
      ]}
    />
  );
}

const kindTexts = {
  step: "Step",
  input: "Question",
  sleep: "Sleep",
  call: "Call",
  event: "Event",
  artifact: "File",
  loop: "Loop",
} as const;

/** How long the steps of a tool take. */
export function StepLatency({ tool }: { readonly tool: string }): JSX.Element {
  const { admin } = useServices();
  const load = useLoaded(tool, () => admin.latency(tool, { tasks: newestEnded }), { restMs: latencyRestMs });
  const time = (title: string, of: "p50Ms" | "p95Ms" | "maxMs") =>
    ({ title, isNumber: true, cell: (row: Record<typeof of, number>) => durationText(row[of]) }) as const;
  return (
    <LoadedTable
      title="Time by step"
      note={`Steps, questions and other waits of the most recent ${newestEnded} tasks that have ended, from start to end: tries and pauses are included.`}
      loaded={load}
      rows={load.value?.steps}
      keyOf={({ kind, name }) => `${kind} ${name}`}
      empty="The tasks of this tool that have ended took no steps."
      columns={[
        { title: "Step", class: "message", cell: ({ name }) => name },
        { title: "Kind", class: "minor", cell: ({ kind }) => kindTexts[kind] },
        { title: "Count", isNumber: true, class: "minor", cell: ({ count }) => count.toLocaleString() },
        time("p50", "p50Ms"),
        time("p95", "p95Ms"),
        time("Max", "maxMs"),
        { title: "Slowest task", cell: ({ taskId }) => <TaskLink id={taskId} /> },
      ]}
    />
  );
}

function TaskLink({ id }: { readonly id: string }): JSX.Element {
  return (
    <Link to={taskPath(id)} class="task">
      {id}
    </Link>
  );
}
