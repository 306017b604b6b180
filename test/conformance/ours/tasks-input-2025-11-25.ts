import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { Checks, expectEqual, NotApplicable, until, type Requirement } from "./checks.ts";
import { asTask, relatedTask, Session, type Json } from "./session.ts";
import type { ClientScenario, ConformanceCheck, RunContext } from "./types.ts";

const spec = {
  id: "MCP-2025-11-25-Tasks-Input-Required",
  url: "https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#input-required-status",
};

/** A task of 2025-11-25 that asks its user, and what the server says meanwhile by itself. */
export class TasksInput20251125Scenario implements ClientScenario {
  name = "tasks-input-2025-11-25";
  readonly source = { introducedIn: "2025-11-25", removedIn: "2026-07-28" } as const;
  description = `Test a task of 2025-11-25 that needs input (SEP-1686).

**Server Implementation Requirements:**

A server that declares \`tasks.requests.tools.call\` has a tool \`confirm_delete\` (\`filename\`) with \`taskSupport: "optional"\`, which asks its caller by one \`elicitation/create\` for a boolean \`confirm\`, and returns text that names the file.

\`notifications/tasks/status\` are optional: what is said of them is skipped where none comes.`;

  async run(ctx: RunContext): Promise<ConformanceCheck[]> {
    const checks = new Checks(spec);
    const session = await Session.open(ctx.serverUrl);
    try {
      const declared = "tasks" in (session.client.getServerCapabilities() ?? {});
      await checkInput(checks, session, declared);
      if (declared) await checkNotifications(checks, session);
      return checks.all;
    } finally {
      await session.close();
    }
  }
}

function requirement(
  keyword: Requirement["keyword"],
  id: string,
  name: string,
  description: string,
): Requirement {
  return { id: `sep-1686-${id}`, name, description, keyword };
}

async function checkInput(checks: Checks, session: Session, declared: boolean): Promise<void> {
  const asked = Promise.withResolvers<Json>();
  const looked = Promise.withResolvers<void>();
  session.client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
    asked.resolve(params);
    await looked.promise; // the task needs input until it is answered
    return { action: "accept", content: { confirm: true } };
  });

  let taskId = "";
  let result: Promise<Json> = Promise.reject(new Error("Not testable: there is no task"));
  result.catch(() => undefined);
  await checks.add(
    requirement(
      "SHOULD",
      "input-required",
      "InputRequired",
      "A task that needs input has the status input_required",
    ),
    async () => {
      if (!declared) throw new NotApplicable("The server does not declare tasks, which are optional");
      ({ taskId } = await session.start("confirm_delete", { filename: "report.txt" }));
      result = session.request("tasks/result", { taskId });
      result.catch(() => undefined);
      try {
        await until(
          "the task needs input",
          async () => (await session.get(taskId)).status === "input_required" || undefined,
        );
      } finally {
        looked.resolve();
      }
      return [];
    },
  );
  if (!declared) return;
  await checks.add(
    requirement(
      "MUST",
      "input-related",
      "InputRelatedTask",
      "The request for input names the task of the call in its metadata",
    ),
    async () => {
      const params = await Promise.race([asked.promise, result.then(() => ({}))]);
      return expectEqual("related-task", relatedTask(params), { taskId });
    },
  );
  await checks.add(
    requirement(
      "MUST",
      "input-result",
      "InputResult",
      "The answered task goes on, and tasks/result returns its result with its task in the metadata",
    ),
    async () => {
      const answered = await result;
      const text = JSON.stringify(answered["content"]);
      return [
        ...(text?.includes("report.txt") === true ? [] : [`The result does not name the file: ${text}`]),
        ...expectEqual("related-task", relatedTask(answered), { taskId }),
        ...expectEqual("The status", (await session.get(taskId)).status, "completed"),
      ];
    },
  );
}

async function checkNotifications(checks: Checks, session: Session): Promise<void> {
  const notified = async (): Promise<readonly Json[]> => {
    // One that follows the result may come on another stream than that.
    await until("a notification", () => session.notified[0]).catch(() => {
      throw new NotApplicable("No notifications/tasks/status has come. They are optional");
    });
    return session.notified;
  };
  await checks.add(
    requirement(
      "MUST",
      "status-notification",
      "StatusNotification",
      "notifications/tasks/status has the whole task, flat",
    ),
    async () => {
      for (const params of await notified()) asTask("What notifications/tasks/status has", params);
      return [];
    },
  );
  await checks.add(
    requirement(
      "SHOULD",
      "status-unrelated",
      "StatusWithoutRelatedTask",
      "notifications/tasks/status has no related-task metadata",
    ),
    async () =>
      (await notified()).flatMap((params) => expectEqual("related-task", relatedTask(params), undefined)),
  );
}
