import type { Answer } from "./scripted-server.ts";

/** The task that most tests are about. */
export const taskId = "Zk3v8Q0u1mW7rT5xY2bN9a";

const base = {
  taskId,
  createdAt: "2026-10-01T00:00:00Z",
  lastUpdatedAt: "2026-10-01T00:00:00Z",
  ttlMs: 900_000,
  pollIntervalMs: 2000,
};

export const sent = { content: [{ type: "text", text: "sent" }] };

export const approval = {
  method: "elicitation/create",
  params: {
    mode: "form",
    message: "Send it?",
    requestedSchema: { type: "object", properties: { ok: { type: "boolean" } } },
  },
};

export const sampling = {
  method: "sampling/createMessage",
  params: { messages: [{ role: "user", content: { type: "text", text: "Sum up" } }], maxTokens: 10 },
};

export function created(more: object = {}): Answer {
  return { result: { resultType: "task", ...base, status: "working", ...more } };
}

export function working(more: object = {}): Answer {
  return { result: { resultType: "complete", ...base, status: "working", ...more } };
}

export function asking(inputRequests: object, more: object = {}): Answer {
  return working({ status: "input_required", inputRequests, ...more });
}

export function completed(result: object = sent, more: object = {}): Answer {
  return working({ status: "completed", result, ...more });
}

export function failed(error: object): Answer {
  return working({ status: "failed", error });
}

export function cancelled(more: object = {}): Answer {
  return working({ status: "cancelled", ...more });
}

export const acknowledged: Answer = { result: { resultType: "complete" } };
export const unknownTask: Answer = { error: { code: -32602, message: "Unknown or expired task" } };
