import type { AdminAction } from "../../../../src/admin/admin.ts";

const texts: Readonly<Record<string, string>> = {
  cancel: "Cancelled a task",
  answer: "Answered a task",
  retry: "Ran a task again",
  extend: "Extended a task",
  unblock: "Tried a blocked task again",
  delete: "Deleted a task",
  pause: "Paused a tool",
  resume: "Resumed a tool",
  resend: "Resent a webhook's messages",
  drain: "Drained a process",
  mark: "Marked a cause of failures",
  erase: "Erased a caller's data",
  export: "Exported tasks",
  read: "Read a caller's data",
  dump: "Dumped the store",
  login: "Logged in",
  logout: "Logged out",
};

/** An operator's action, in words. Newer versions may have others. */
export function actionText({ action }: AdminAction): string {
  return Object.hasOwn(texts, action) ? (texts[action] ?? action) : action;
}

/** The new task of a retry. */
export function ranAgainAs(action: AdminAction): string | null {
  return action.action === "retry" ? textOf(action.detail, "ranAgainAs") : null;
}

/** The webhook whose messages are sent again. */
export function webhookOf(action: AdminAction): string | null {
  return action.action === "resend" ? textOf(action.detail, "webhook") : null;
}

function textOf(detail: unknown, name: string): string | null {
  if (typeof detail !== "object" || detail === null) return null;
  const [, value] = Object.entries(detail).find(([key]) => key === name) ?? [];
  return typeof value === "string" ? value : null;
}

/** Actions are numbered; older ones have numbers below this. */
export function beforeIn(query: URLSearchParams): number | undefined {
  const text = query.get("before") ?? "";
  return /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined;
}
