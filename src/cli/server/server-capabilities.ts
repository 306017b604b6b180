import { generationAt, wireGenerations, type WireGenerationName } from "../../generation/generations.ts";
import { readKeptMs } from "../../generation/extensions.ts";
import type { ServerTasks } from "../../client/generation.ts";
import { clientGenerations } from "../../client/generations.ts";
import type { TaskClient } from "../../client/task-client.ts";

/** The generation of the Tasks protocol that a connection uses, even if the server has no tasks. */
export function generationOf({ sdk }: TaskClient): WireGenerationName {
  return generationAt(sdk.getNegotiatedProtocolVersion());
}

/** The server's name for itself; empty if it gives none. */
export function serverInfo({ sdk }: TaskClient): { readonly name: string; readonly version: string } {
  const { name = "", version = "" } = sdk.getServerVersion() ?? {};
  return { name, version };
}

/** What the server declares about its tasks; undefined if it declares none. */
export function declaredTasks(client: TaskClient): ServerTasks | undefined {
  return clientGenerations[generationOf(client)].serverTasks?.({ ...client.sdk.getServerCapabilities() });
}

/** Whether the server says that it recognises a repeated call by its idempotency key. */
export function recognisesRepeats(client: TaskClient): boolean {
  const { declaresUnder } = wireGenerations[generationOf(client)];
  return readKeptMs(client.sdk.getServerCapabilities(), declaresUnder) !== undefined;
}
