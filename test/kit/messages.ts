/** A JSON-RPC message as it came. */
export type Message = Record<string, unknown>;

export const tasksExtension = { "io.modelcontextprotocol/tasks": {} };
/** What a client that knows tasks and forms declares. */
export const withTasks = { elicitation: {}, extensions: tasksExtension };
export const withoutTasks = { elicitation: {} };

export const formClient = { elicitation: { form: {} } };

/** What a client answers that takes a question as a task of its own. */
export const working = {
  taskId: "c1",
  status: "working",
  createdAt: "",
  lastUpdatedAt: "",
  ttl: null,
  pollInterval: 100,
};

export const related = (taskId: string): object => ({
  "io.modelcontextprotocol/related-task": { taskId },
});

export function text(value: string): { content: { type: "text"; text: string }[] } {
  return { content: [{ type: "text", text: value }] };
}

/** A result without the server's name in it. */
export function unstamped({ _meta, ...result }: Record<string, unknown>): Record<string, unknown> {
  const { "io.modelcontextprotocol/serverInfo": _, ...meta } = { ...(_meta as object | undefined) } as Record<
    string,
    unknown
  >;
  return Object.keys(meta).length === 0 ? result : { ...result, _meta: meta };
}
