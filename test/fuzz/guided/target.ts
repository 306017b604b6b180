export interface Target {
  readonly run: (bytes: Buffer) => void | Promise<void>;
  readonly seeds: readonly string[];
  readonly words: readonly string[];
  readonly close?: () => Promise<void>;
}

const meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {
    elicitation: {},
    extensions: { "io.modelcontextprotocol/tasks": {} },
  },
  "holdfast/idempotencyKey": "kkkkkkkkkkkkkkkkkkkkkk",
};

const message = (method: string, params: object): string =>
  JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: meta } });

/** One of each kind that is nearly understood. */
export const messages = [
  message("tools/call", { name: "works", arguments: { a: 1 }, task: { ttl: 5 } }),
  message("tools/call", {
    name: "prepares",
    arguments: {},
    requestState: "v1.AAAA",
    inputResponses: { name: {} },
  }),
  message("tasks/get", { taskId: "t" }),
  message("tasks/update", {
    taskId: "t",
    inputResponses: { name: { action: "accept", content: { name: "a" } } },
  }),
  message("tasks/cancel", { taskId: "t" }),
  message("subscriptions/listen", { notifications: { taskIds: ["t"], toolsListChanged: true } }),
  message("tools/list", {}),
  message("server/discover", {}),
];

export const words = [
  ...'"__proto__": "constructor": "id":1, "id":"a", "taskId": "task": "ttl": "name": "params": null true [] {} -1 1e999'.split(
    " ",
  ),
  ...'"method": "tools/call" "tasks/get" "tasks/update" "tasks/cancel" "tasks/list" "tasks/result" "ping" "works"'.split(
    " ",
  ),
  ...'"asks" "prepares" "greet" "requestState": "inputResponses": "notifications": "taskIds": "_meta": "\\ud800"'.split(
    " ",
  ),
  ":",
  ",",
  "{",
  "}",
  "[",
  "]",
  '"',
];
