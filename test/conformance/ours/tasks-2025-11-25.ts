import { Checks, expectEqual, NotApplicable, type Requirement } from "./checks.ts";
import { asTask, relatedTask, Session, type Json, type Task } from "./session.ts";
import type { ClientScenario, ConformanceCheck, RunContext } from "./types.ts";

const spec = {
  id: "MCP-2025-11-25-Tasks",
  url: "https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks",
};
const sep = {
  id: "SEP-1686",
  url: "https://github.com/modelcontextprotocol/modelcontextprotocol/issues/1686",
};

/** Tasks of 2025-11-25 in a server: negotiation, task-augmented calls, polling, results, errors, lists and cancelling. */
export class Tasks20251125Scenario implements ClientScenario {
  name = "tasks-2025-11-25";
  readonly source = { introducedIn: "2025-11-25", removedIn: "2026-07-28" } as const;
  description = `Test task-augmented tool calls of 2025-11-25 (SEP-1686).

**Server Implementation Requirements:**

Tasks are optional. A server that declares \`tasks.requests.tools.call\` has these tools, which are those of the \`tasks-*\` scenarios:

- \`greet\` (\`name\`): \`taskSupport: "forbidden"\`, returns text.
- \`slow_compute\` (\`seconds\`, \`label\`): \`taskSupport: "optional"\`, takes that long and returns text that names the label.
- \`failing_job\`: \`taskSupport: "required"\`, returns a result with \`isError: true\`.
- \`protocol_error_job\`: \`taskSupport: "optional"\`, ends with a JSON-RPC error.

\`tasks.list\` and \`tasks.cancel\` are optional as well: without them their checks are skipped.`;

  async run(ctx: RunContext): Promise<ConformanceCheck[]> {
    const checks = new Checks(spec, sep);
    const session = await Session.open(ctx.serverUrl);
    try {
      const declared: Json = { ...session.client.getServerCapabilities() };
      const tasks = declared["tasks"];
      await checks.add(capability, () => wrongCapability(tasks));
      if (tasks === undefined) return checks.all;
      await checks.add(toolSupport, () => wrongSupport(session));
      await checkCompletion(checks, session);
      await checkErrors(checks, session);
      await checkList(checks, session, isIn(tasks, "list"));
      await checkCancel(checks, session, isIn(tasks, "cancel"));
      return checks.all;
    } finally {
      await session.close();
    }
  }
}

function must(id: string, name: string, description: string): Requirement {
  return { id: `sep-1686-${id}`, name, description, keyword: "MUST" };
}

function should(id: string, name: string, description: string): Requirement {
  return { ...must(id, name, description), keyword: "SHOULD" };
}

const capability = must(
  "capability",
  "TasksCapability",
  "The capability tasks has an object for each part, and tools.call among its requests",
);
const toolSupport = must(
  "tool-support",
  "TaskSupport",
  "tools/list says of each tool whether it takes tasks (execution.taskSupport)",
);

function isIn(value: unknown, name: string): boolean {
  return typeof value === "object" && value !== null && name in value;
}

function wrongCapability(tasks: unknown): string[] {
  if (tasks === undefined) throw new NotApplicable("The server does not declare tasks, which are optional");
  const { list = {}, cancel = {}, requests } = tasks as Json;
  const call = (requests as { tools?: { call?: unknown } } | undefined)?.tools?.call;
  const parts = { "tasks.list": list, "tasks.cancel": cancel, "tasks.requests.tools.call": call };
  return Object.entries(parts)
    .filter(([, part]) => typeof part !== "object" || part === null)
    .map(([name, part]) => `${name} is ${JSON.stringify(part)}, not an object`);
}

async function wrongSupport(session: Session): Promise<string[]> {
  const { tools } = await session.client.listTools();
  const found = new Map(tools.map(({ name, execution }) => [name, execution?.taskSupport ?? "forbidden"]));
  const wanted = {
    greet: "forbidden",
    slow_compute: "optional",
    failing_job: "required",
    protocol_error_job: "optional",
  };
  return Object.entries(wanted).flatMap(([name, support]) =>
    expectEqual(`taskSupport of ${name}`, found.get(name), support),
  );
}

async function checkCompletion(checks: Checks, session: Session): Promise<void> {
  const call = { name: "slow_compute", arguments: { seconds: 1, label: "conformance" } };
  let created: Json = {};
  await checks.add(
    must(
      "create",
      "CreateTaskResult",
      "An augmented call is answered with a nested task that works, and without a result",
    ),
    async () => {
      created = await session.request("tools/call", { ...call, task: { ttl: 60_000 } });
      const { status } = asTask("CreateTaskResult.task", created["task"]);
      return [
        ...expectEqual("The status of a new task", status, "working"),
        ...("content" in created ? ["CreateTaskResult has content"] : []),
      ];
    },
  );
  const task = (): Task => asTask("Not testable: what the call made", created["task"]);

  let got: Json = {};
  await checks.add(
    must(
      "get",
      "TasksGet",
      "tasks/get returns the task flat, with the id, creation and ttl that it was made with",
    ),
    async () => {
      got = await session.request("tasks/get", { taskId: task().taskId });
      const { taskId, createdAt, ttl } = asTask("The result of tasks/get", got);
      return expectEqual(
        "The task",
        { taskId, createdAt, ttl },
        { taskId: task().taskId, createdAt: task().createdAt, ttl: task().ttl },
      );
    },
  );
  await checks.add(
    should(
      "get-unrelated",
      "TasksGetWithoutRelatedTask",
      "The result of tasks/get has no related-task metadata",
    ),
    () => expectEqual("related-task", relatedTask(got), undefined),
  );

  let result: Json = {};
  await checks.add(
    must(
      "result-waits",
      "TasksResultWaits",
      "tasks/result is answered when the task has ended, and not before",
    ),
    async () => {
      result = await session.request("tasks/result", { taskId: task().taskId });
      return expectEqual(
        "The status after tasks/result",
        (await session.get(task().taskId)).status,
        "completed",
      );
    },
  );
  await checks.add(
    must("result", "TasksResult", "tasks/result returns what the call without a task returns"),
    async () => {
      const plain = await session.request("tools/call", call);
      return expectEqual("The content", result["content"], plain["content"]);
    },
  );
  await checks.add(
    must(
      "result-related",
      "TasksResultRelatedTask",
      "The result of tasks/result names its task in its metadata",
    ),
    () => expectEqual("related-task", relatedTask(result), { taskId: task().taskId }),
  );
}

async function checkErrors(checks: Checks, session: Session): Promise<void> {
  let failed = "";
  await checks.add(
    must("tool-error", "ToolError", "tasks/result returns the result of a tool that failed (isError)"),
    async () => {
      failed = (await session.start("failing_job", {})).taskId;
      return expectEqual(
        "isError",
        (await session.request("tasks/result", { taskId: failed }))["isError"],
        true,
      );
    },
  );
  await checks.add(
    should(
      "tool-error-status",
      "ToolErrorStatus",
      "A task whose tool failed (isError) has the status failed",
    ),
    async () => expectEqual("The status", (await session.get(failed)).status, "failed"),
  );
  await checks.add(
    must(
      "protocol-error",
      "ProtocolError",
      "tasks/result ends with the JSON-RPC error of the call, and its task has failed",
    ),
    async () => {
      const plain = await errorOf(
        session.request("tools/call", { name: "protocol_error_job", arguments: {} }),
      );
      const { taskId } = await session.start("protocol_error_job", {});
      const error = await errorOf(session.request("tasks/result", { taskId }));
      return [
        ...expectEqual("The error", error, plain),
        ...expectEqual("The status", (await session.get(taskId)).status, "failed"),
      ];
    },
  );
  await checks.add(
    must("required-tool", "RequiredTool", "A tool that requires tasks refuses a call without one (-32601)"),
    () => session.refused(-32601, "tools/call", { name: "failing_job", arguments: {} }),
  );
  await checks.add(
    should("forbidden-tool", "ForbiddenTool", "A tool that takes no tasks refuses a call with one (-32601)"),
    () => session.refused(-32601, "tools/call", { name: "greet", arguments: { name: "World" }, task: {} }),
  );
  for (const part of ["get", "result"]) {
    await checks.add(
      must(`unknown-${part}`, `Unknown_${part}`, `tasks/${part} refuses the id of no task (-32602)`),
      () => session.refused(-32602, `tasks/${part}`, { taskId: "no-such-task" }),
    );
  }
}

/** The code and data of the error that a request has to end with. */
async function errorOf(request: Promise<Json>): Promise<{ code: unknown; data: unknown }> {
  return request.then(
    (result) => {
      throw new Error(`It was answered: ${JSON.stringify(result)}`);
    },
    (error: { code?: unknown; data?: unknown }) => ({ code: error.code, data: error.data }),
  );
}

async function checkList(checks: Checks, session: Session, declared: boolean): Promise<void> {
  const applies = (): void => {
    if (!declared) throw new NotApplicable("The server does not declare tasks.list");
  };
  await checks.add(
    must("list", "TasksList", "tasks/list has every task that its requestor can get"),
    async () => {
      applies();
      const { taskId } = await session.start("slow_compute", { seconds: 0, label: "listed" });
      const found: string[] = [];
      for (let cursor: unknown; ;) {
        const page = await session.request("tasks/list", cursor === undefined ? {} : { cursor });
        if (!Array.isArray(page["tasks"])) return ["tasks/list has no tasks"];
        found.push(...page["tasks"].map((task) => asTask("A listed task", task).taskId));
        cursor = page["nextCursor"];
        if (cursor === undefined) break;
      }
      return found.includes(taskId) ? [] : [`${taskId} is not listed`];
    },
  );
  await checks.add(
    must("list-cursor", "TasksListCursor", "tasks/list refuses a cursor that it did not give (-32602)"),
    () => {
      applies();
      return session.refused(-32602, "tasks/list", { cursor: "no such cursor" });
    },
  );
}

async function checkCancel(checks: Checks, session: Session, declared: boolean): Promise<void> {
  const applies = (): void => {
    if (!declared) throw new NotApplicable("The server does not declare tasks.cancel");
  };
  await checks.add(
    must("cancel", "TasksCancel", "tasks/cancel returns the task, which is cancelled"),
    async () => {
      applies();
      const { taskId } = await session.start("slow_compute", { seconds: 30, label: "cancelled" });
      const task = asTask("The result of tasks/cancel", await session.request("tasks/cancel", { taskId }));
      return expectEqual(
        "The task",
        { id: task.taskId, status: task.status },
        { id: taskId, status: "cancelled" },
      );
    },
  );
  await checks.add(
    must(
      "cancel-ended",
      "TasksCancelEnded",
      "tasks/cancel refuses a task that has ended (-32602), which stays as it is",
    ),
    async () => {
      applies();
      const { taskId } = await session.start("slow_compute", { seconds: 0, label: "ended" });
      await session.request("tasks/result", { taskId });
      const wrong = await session.refused(-32602, "tasks/cancel", { taskId });
      return [...wrong, ...expectEqual("The status", (await session.get(taskId)).status, "completed")];
    },
  );
  await checks.add(
    must("unknown-cancel", "Unknown_cancel", "tasks/cancel refuses the id of no task (-32602)"),
    () => {
      applies();
      return session.refused(-32602, "tasks/cancel", { taskId: "no-such-task" });
    },
  );
}
