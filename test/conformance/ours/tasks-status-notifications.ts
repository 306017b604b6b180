import { Checks, expectEqual, NotApplicable, until, type Requirement } from "./checks.ts";
import { ListenStream, resultOf, send, tasksExtension } from "./stateless.ts";
import type { ClientScenario, ConformanceCheck, RunContext } from "./types.ts";

const sep2663 = { id: "SEP-2663", url: "https://modelcontextprotocol.io/seps/2663-tasks-extension" };
const sep2575 = { id: "SEP-2575", url: "https://modelcontextprotocol.io/seps/2575-stateless-mcp" };
const missingCapability = -32021;

type Params = Readonly<Record<string, unknown>>;

/** What a server pushes of tasks on `subscriptions/listen`: the scenario that the suite has skipped until now, by its name. */
export class TasksStatusNotificationsScenario implements ClientScenario {
  name = "tasks-status-notifications";
  readonly source = { extensionId: tasksExtension } as const;
  description = `Test notifications/tasks on subscriptions/listen (SEP-2663, SEP-2575).

**Server Implementation Requirements:**

Notifications are optional: a server that declares the extension and sends none passes, with the checks about them skipped. Where it sends them, each has the task as \`tasks/get\` returns it, and the id of its subscription.

The tools are those of the other \`tasks-*\` scenarios: \`slow_compute\` (\`seconds\`, \`label\`), and \`confirm_delete\` (\`filename\`), which asks for input.`;

  async run({ serverUrl }: RunContext): Promise<ConformanceCheck[]> {
    const checks = new Checks(sep2663, sep2575);
    const { capabilities } = (await resultOf(serverUrl, "server/discover", {})) as {
      capabilities?: { extensions?: Params };
    };
    const declared = capabilities?.extensions?.[tasksExtension] !== undefined;
    await checks.add(
      must("extension", "TasksExtension", "The server declares the extension for tasks"),
      () => {
        if (!declared)
          throw new NotApplicable("The server does not declare the extension, which is optional");
        return [];
      },
    );
    if (!declared) return checks.all;
    await checks.add(
      must(
        "undeclared",
        "ListenUndeclared",
        "taskIds of a client that does not declare the extension are refused (-32021)",
      ),
      () => wrongRefusal(serverUrl),
    );
    await checkStream(checks, serverUrl);
    return checks.all;
  }
}

function must(id: string, name: string, description: string): Requirement {
  return { id: `sep-2663-listen-${id}`, name, description, keyword: "MUST" };
}

async function wrongRefusal(serverUrl: string): Promise<string[]> {
  const { error } = await send(
    serverUrl,
    "subscriptions/listen",
    { notifications: { taskIds: ["any"] } },
    {},
  );
  const wanted = { requiredCapabilities: { extensions: { [tasksExtension]: {} } } };
  return [
    ...expectEqual("The code", error?.code, missingCapability),
    ...expectEqual("The data", error?.data, wanted),
  ];
}

async function checkStream(checks: Checks, serverUrl: string): Promise<void> {
  const working = await start(serverUrl, "slow_compute", { seconds: 1, label: "conformance" });
  const asking = await start(serverUrl, "confirm_delete", { filename: "report.txt" });
  const stream = await ListenStream.open(serverUrl, { taskIds: [working, asking, "no-such-task"] });
  try {
    const of = (taskId: string, status: string): Params | undefined =>
      stream.of("notifications/tasks").find((task) => task["taskId"] === taskId && task["status"] === status);
    let accepted: readonly unknown[] = [];
    await checks.add(
      must(
        "acknowledged",
        "ListenAcknowledged",
        "The first message lists the tasks that are listened to, and no unknown one",
      ),
      async () => {
        const first = await until("the first message", () => stream.received[0]);
        const { notifications } = (first.params ?? {}) as { notifications?: { taskIds?: unknown[] } };
        accepted = notifications?.taskIds ?? [];
        const wrong = expectEqual(
          "The first message",
          first.method,
          "notifications/subscriptions/acknowledged",
        );
        return [
          ...wrong,
          ...accepted.flatMap((id) =>
            [working, asking].includes(String(id)) ? [] : [`${String(id)} is acknowledged`],
          ),
        ];
      },
    );
    const pushed = async (taskId: string, status: string): Promise<Params> => {
      if (!accepted.includes(taskId))
        throw new NotApplicable("The server does not push this task, which is optional");
      return until(`${status} is pushed`, () => of(taskId, status));
    };
    await checks.add(
      must(
        "input",
        "NotifiedInput",
        "A task that needs input is pushed as tasks/get returns it, with its questions",
      ),
      async () => {
        const task = await pushed(asking, "input_required");
        return [
          ...("inputRequests" in task ? [] : ["It has no inputRequests"]),
          ...(await differences(serverUrl, asking, task)),
        ];
      },
    );
    await checks.add(
      must(
        "completed",
        "NotifiedCompletion",
        "A completed task is pushed as tasks/get returns it, with its result",
      ),
      async () => {
        const task = await pushed(working, "completed");
        return [
          ...("result" in task ? [] : ["It has no result"]),
          ...(await differences(serverUrl, working, task)),
        ];
      },
    );
    await resultOf(serverUrl, "tasks/cancel", { taskId: asking });
    await checks.add(
      must("cancelled", "NotifiedCancellation", "A cancelled task is pushed as tasks/get returns it"),
      async () => differences(serverUrl, asking, await pushed(asking, "cancelled")),
    );
    await checks.add(
      must(
        "subscription",
        "NotifiedSubscription",
        "Every message has the id of its subscription, and is about a task that is listened to",
      ),
      () => {
        const tasks = stream.of("notifications/tasks");
        if (tasks.length === 0) throw new NotApplicable("No notifications/tasks has come. They are optional");
        return tasks.flatMap(({ taskId, _meta }) => [
          ...expectEqual(
            "The subscription",
            (_meta as Params | undefined)?.["io.modelcontextprotocol/subscriptionId"],
            stream.id,
          ),
          ...(accepted.includes(taskId) ? [] : [`${String(taskId)} was not acknowledged`]),
        ]);
      },
    );
    await checks.add(
      must("tasks-only", "ListenTasksOnly", "No progress and no log messages of a task come on the stream"),
      () =>
        stream.received.flatMap(({ method = "" }) =>
          ["notifications/progress", "notifications/message"].includes(method) ? [method] : [],
        ),
    );
  } finally {
    stream.close();
  }
}

async function start(serverUrl: string, name: string, args: object): Promise<string> {
  const { resultType, taskId } = await resultOf(serverUrl, "tools/call", { name, arguments: args });
  if (resultType === "task" && typeof taskId === "string") return taskId;
  throw new Error(`Not testable: ${name} became no task`);
}

/** Compares what was pushed with what `tasks/get` returns, without what is about the message itself. */
async function differences(serverUrl: string, taskId: string, pushed: Params): Promise<string[]> {
  const { resultType: _, _meta: __, ...got } = await resultOf(serverUrl, "tasks/get", { taskId });
  const { _meta: ___, ...task } = pushed;
  return expectEqual("The pushed task", sorted(task), sorted(got));
}

function sorted(object: Params): unknown {
  return Object.entries(object).toSorted(([a], [b]) => a.localeCompare(b));
}
