import { ProtocolError } from "@modelcontextprotocol/server";
import type { PrepareContext, Tasks } from "holdfast";
import type { Authenticate, HttpOptions } from "holdfast/http";
import * as z from "zod";
import { form } from "../server/prepare-caller.ts";
import { text } from "../kit/messages.ts";
import { serve, type Served } from "../kit/server.ts";

/** In all that is Alice's: whoever sees it has learnt something of her. */
export const secret = "amethyst";

export const states = ["working", "input_required", "completed", "failed", "cancelled"] as const;
export type State = (typeof states)[number];

/** The tool whose task comes to a state, and stays there; a cancelled one is a working one that was cancelled. */
export const toolFor: Readonly<Record<State, string>> = {
  working: "sleeps",
  input_required: "asks",
  completed: "completes",
  failed: "fails",
  cancelled: "sleeps",
};

export function tools(tasks: Tasks): void {
  const config = { inputSchema: z.object({ word: z.string() }) };
  tasks.tool("sleeps", config, async ({ word }, task) => {
    await task.status(`sleeping on ${word}`);
    await task.sleep("long", 3_600_000);
    return text(word);
  });
  tasks.tool("asks", config, async ({ word }, task) => {
    task.progress(1, 2, word);
    const { content } = await task.elicit(`key of ${word}`, form(`Is it ${word}?`));
    return text(`${word}, says ${String(content?.["name"])}`);
  });
  tasks.tool("completes", config, ({ word }) => text(word));
  tasks.tool("fails", config, ({ word }) => {
    throw new ProtocolError(-32_050, `no ${word}`);
  });
  const prepare = async (_: unknown, ask: PrepareContext): Promise<unknown> =>
    ask.elicit("name", form("Name?"));
  tasks.tool("prepares", { ...config, prepare }, ({ word }) => text(word));
}

/** Who calls is who the header says. */
export const authenticate: Authenticate = async ({ headers }) => headers.get("authorization") ?? undefined;

/** A server on which Alice and Bob are told apart. */
export function stage(http: HttpOptions = {}): Promise<Served> {
  return serve({ tools, http: { authenticate, ...http } });
}

export const as = (who: string): { headers: Record<string, string> } => ({ headers: { authorization: who } });

/** An id that looks like this one, of a task that never was. */
export function unknownLike(id: string): string {
  return id.slice(0, -1) + (id.endsWith("A") ? "B" : "A");
}
