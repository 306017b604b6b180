import type { PrepareContext, Tasks } from "holdfast";
import * as z from "zod";
import { form } from "../server/prepare-caller.ts";
import { text } from "../kit/messages.ts";
import { serve } from "../kit/server.ts";
import { SessionClient } from "../kit/session-client.ts";
import { StatelessClient } from "../kit/stateless-client.ts";
import { authorsOwn } from "../server/session-server.ts";

/** Tools of each kind, which answer whatever arguments they are given. */
export function tools(tasks: Tasks): void {
  const loose = { inputSchema: z.looseObject({}) };
  const greet = z.object({ name: z.string() });
  tasks.tool("greet", { inputSchema: greet, task: "forbidden" }, ({ name }) => text(`hello ${name}`));
  tasks.tool("works", loose, (args) => text(String(Object.keys(args).length)));
  tasks.tool("only", { ...loose, task: "required" }, () => text("only a task"));
  tasks.tool("asks", loose, async (_args, task) => {
    const { content } = await task.elicit("name", form("Name?"));
    return text(String(content?.["name"]));
  });
  const prepare = async (_: unknown, ask: PrepareContext): Promise<string> =>
    String((await ask.elicit("name", form("Name?"))).content?.["name"]);
  tasks.tool("prepares", { ...loose, prepare }, () => text("prepared"));
}

/** So that clients without tasks are answered soon, and can ask for what became of their calls. */
export const tickets = {
  plain: "ticket",
  plainDeadlineMs: 20,
  pollingTools: { answer: "task_answer", list: "task_list" },
} as const;

/** What a client knows that is in the middle of something, so that requests can be about it. */
export interface Known {
  readonly sessionId: string | undefined;
  readonly eventId: string;
  readonly taskIds: readonly string[];
  readonly requestState: string;
}

export interface Front {
  readonly url: string;
  readonly errors: unknown[];
  openSession(): Promise<Known>;
}

/** A real server in this process, without limits that would keep strange requests from being looked at. */
export async function front({ sessions }: { readonly sessions: boolean }): Promise<Front> {
  const { http, errors } = await serve({
    tools,
    server: authorsOwn,
    http: { sessions },
    options: {
      maxUnfinished: null,
      maxUnfinishedPerPrincipal: null,
      maxRetained: null,
      maxBodyBytes: 100_000,
      ...tickets,
      rates: { pollsPerInterval: null, maxLoopDelayMs: null },
    },
  });
  const openSession = async (): Promise<Known> => {
    const peer = new StatelessClient(http.url);
    const { result } = await peer.call("prepares", {});
    const [asked, done] = [await peer.start("asks"), await peer.start("works")];
    const older = sessions ? await SessionClient.open(http.url) : new SessionClient(http.url);
    const { result: created } = await older.request("tools/call", { name: "asks", arguments: {}, task: {} });
    const { task } = created as { task: { taskId: string } };
    const stream = sessions ? await (await older.listen()).any() : undefined;
    return {
      sessionId: older.sessionId,
      eventId: stream?.id ?? "1@_GET_stream",
      taskIds: [asked, done, task.taskId],
      requestState: String(result?.["requestState"]),
    };
  };
  return { url: http.url, errors, openSession };
}
