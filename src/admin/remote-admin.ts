import { HoldfastError } from "../task/fault.ts";
import type { Admin, AdminActs, TaskQuery } from "./admin.ts";
import { Endpoint, type Parameters, type RemoteAdminOptions } from "./remote-endpoint.ts";

/**
 * The `Admin` of a server, through its admin endpoint. The endpoint records actions under its own name for the token, whatever name you
 * pass to `as`. Rejects as the server's own `Admin` does, with `unauthenticated` and `insufficient_scope` for a token that is not accepted
 * or may only read, and with `store_failed` if the server does not answer. Throws `configuration` for an invalid URL or token.
 *
 * ```ts
 * const admin = remoteAdmin("https://reports.example.com/admin", { token });
 * const { tasks } = await admin.list({ states: ["failed"], tool: "publish_report" });
 * ```
 */
export function remoteAdmin(url: string, options: RemoteAdminOptions): Admin {
  const endpoint = new Endpoint(url, options);
  const acts = actsAt(endpoint);
  return {
    list: async (query = {}) => endpoint.read("tasks", listParameters(query)),
    show: async (id) => endpoint.read(task(id)),
    counts: () => endpoint.read("counts"),
    failures: async (tool, limit) => endpoint.read(`failures/${toolSegment(tool)}`, { limit }),
    webhooks: () => endpoint.read("webhooks"),
    activity: async ({ minutes } = {}) => endpoint.read("activity", { minutes }),
    nodes: () => endpoint.read("nodes"),
    actions: ({ taskId, before, limit } = {}) => endpoint.read("actions", { taskId, before, limit }),
    changes: ({ signal } = {}) => endpoint.follow("changes", signal),
    as: () => acts,
  };
}

function actsAt(endpoint: Endpoint): AdminActs {
  return {
    cancel: async (id) => endpoint.act(`${task(id)}/cancel`, {}),
    answer: async (id, answers) => endpoint.act(`${task(id)}/answer`, { answers }),
    retry: async (id, options = {}) => endpoint.act(`${task(id)}/retry`, options),
    extend: async (id, until) => endpoint.act(`${task(id)}/extend`, { until }),
    delete: async (id) => endpoint.remove(task(id)),
    pause: async (tool) => endpoint.act(`tools/${toolSegment(tool)}/pause`, {}),
    resume: async (tool) => endpoint.act(`tools/${toolSegment(tool)}/resume`, {}),
    resend: async (webhook) => endpoint.act(`webhooks/${toolSegment(webhook)}/resend`, {}),
    bulk: (action, selection, options = {}) => endpoint.act("bulk", { action, selection, options }),
  };
}

function listParameters({ states, principal, ...others }: TaskQuery): Parameters {
  if (states?.length === 0)
    throw new HoldfastError("invalid_params", "states is empty. Leave it out to select all states.");
  return {
    ...others,
    state: states,
    ...(principal === null ? { nobody: true } : { principal }),
  };
}

function task(id: string): string {
  if (isSegment(id)) return `tasks/${encodeURIComponent(id)}`;
  throw new HoldfastError("unknown_task", `There is no task ${id}.`);
}

function toolSegment(tool: string): string {
  if (isSegment(tool)) return encodeURIComponent(tool);
  throw new HoldfastError("invalid_params", `The name ${JSON.stringify(tool)} cannot be sent in a URL.`);
}

/** URLs drop these segments, encoded or not. */
function isSegment(name: string): boolean {
  return name !== "" && name !== "." && name !== ".." && name.isWellFormed();
}
