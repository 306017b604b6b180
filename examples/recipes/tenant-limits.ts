import type { Tasks, TasksOptions } from "holdfast";
import type { Authenticate } from "holdfast/http";
import * as z from "zod";

/** For `createTasks`. */
export const limited = {
  limits: { renders: { concurrency: 2, perMinute: 30 } }, // of each tenant
  maxUnfinishedPerPrincipal: 100, // of each user
} satisfies Partial<TasksOptions>;

/** Whose API key it is. The principal is a user; tenants have many. */
export function byApiKey(users: ReadonlyMap<string, { user: string; tenant: string }>): Authenticate {
  return async (request) => {
    const known = users.get(request.headers.get("x-api-key") ?? "");
    if (known === undefined) return undefined; // 401
    const { user, tenant } = known;
    return { principal: `${tenant}/${user}`, claims: { tenant } };
  };
}

/** A tool of which no tenant has more than two renderings at a time, on all processes together. */
export function addRender(tasks: Tasks, render: (month: string) => Promise<string>): void {
  tasks.tool(
    "render",
    { description: "Renders a report", inputSchema: z.object({ month: z.string() }) },
    async ({ month }, task) => {
      const tenant = String(task.caller.claims["tenant"]);
      return task.step("render", { limit: ["renders", tenant] }, () => render(month));
    },
  );
}
