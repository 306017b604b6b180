import type { PrepareContext, Tasks } from "holdfast";
import { expect } from "vitest";
import * as z from "zod";
import { text } from "../kit/messages.ts";
import { type Sending, StatelessClient, type WireResponse } from "../kit/stateless-client.ts";

const requestedSchema = { type: "object" as const, properties: { name: { type: "string" as const } } };
export const form = (message: string) => ({ message, requestedSchema });
export const accept = (name: string) => ({ action: "accept" as const, content: { name } });

/** The name that the user gives under `key`. */
export async function nameFrom(ask: PrepareContext, key: string, message = `${key}?`): Promise<string> {
  const { action, content } = await ask.elicit(key, form(message));
  if (action !== "accept") throw new Error(`the user said ${action}`);
  return String(content?.["name"]);
}

/** Registers tools that ask for a name before they begin: "greet", and "praise", which is another one. */
export function greets(tasks: Tasks, task: "required" | "optional" | "forbidden" = "optional"): void {
  const inputSchema = z.object({ report: z.string().default("q3") });
  for (const name of ["greet", "praise"]) {
    tasks.tool(
      name,
      {
        inputSchema,
        task,
        prepare: async (_, ask) => ({ name: await nameFrom(ask, "user_name") }),
      },
      // the types of both are inferred
      ({ report }, { prepared }) => text(`${prepared.name.toUpperCase()} gets ${report}`),
    );
  }
}

/** What a client is given to answer. */
export interface Round {
  readonly inputRequests: Record<string, { method: string; params: Record<string, unknown> }>;
  readonly requestState: string;
}

/** A client that calls one tool, round by round. */
export class PrepareCaller {
  readonly peer: StatelessClient;
  readonly #name: string;
  readonly #sending: Sending;

  constructor(peer: StatelessClient, name = "greet", sending: Sending = {}) {
    this.peer = peer;
    this.#name = name;
    this.#sending = sending;
  }

  static async of(tools: (tasks: Tasks) => void, sending: Sending = {}): Promise<PrepareCaller> {
    return new PrepareCaller(await StatelessClient.of({ tools }), "greet", sending);
  }

  call(params: object = {}, sending: Sending = {}): Promise<WireResponse> {
    return this.peer.send("tools/call", { name: this.#name, ...params }, { ...this.#sending, ...sending });
  }

  /** A call that is answered with questions. */
  async round(params: object = {}): Promise<Round> {
    const { result, error } = await this.call(params);
    expect(error).toBeUndefined();
    expect(result).toMatchObject({
      resultType: "input_required",
      requestState: expect.any(String) as string,
    });
    return result as unknown as Round;
  }

  retry({ requestState }: Pick<Round, "requestState">, inputResponses: object): Promise<WireResponse> {
    return this.call({ requestState, inputResponses });
  }

  /** The result of the task that the retry has made. */
  async end(round: Pick<Round, "requestState">, inputResponses: object): Promise<unknown> {
    const { result } = await this.retry(round, inputResponses);
    expect(result).toMatchObject({ resultType: "task" });
    return (await this.peer.ended(result?.["taskId"] as string))["result"];
  }
}
