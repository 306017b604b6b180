import { extensionId } from "../../generation/2026-07-28/negotiate.ts";
import { generation as extension } from "../../generation/2026-07-28/name.ts";
import { generation as core } from "../../generation/2025-11-25/name.ts";
import { generation as sep } from "../../generation/sep-1686/name.ts";
import { serverCancels, serverLists, serverTakesTasks } from "../../generation/2025-11-25/negotiate.ts";
import { readKeptMs } from "../../generation/idempotency-key.ts";
import type { TaskClient } from "../../client/task-client.ts";

/** The generation of the Tasks protocol that a connection uses, even if the server has no tasks. */
export function generationOf({ sdk }: TaskClient): string {
  if (sdk.getProtocolEra() === "modern") return extension;
  return sdk.getNegotiatedProtocolVersion() === core ? core : sep;
}

/** The generation in which the server declares tasks. */
export function declaredTasks({ sdk }: TaskClient): "2026-07-28" | "2025-11-25" | undefined {
  const capabilities = sdk.getServerCapabilities() ?? {};
  if (sdk.getProtocolEra() === "modern") {
    return capabilities.extensions?.[extensionId] === undefined ? undefined : "2026-07-28";
  }
  const hasCore = sdk.getNegotiatedProtocolVersion() === core && serverTakesTasks({ ...capabilities });
  return hasCore ? "2025-11-25" : undefined;
}

/** Whether the server says that it recognises a repeated call by its idempotency key. */
export function recognisesRepeats({ sdk }: TaskClient): boolean {
  const place = sdk.getProtocolEra() === "modern" ? "extensions" : "experimental";
  return readKeptMs(sdk.getServerCapabilities(), place) !== undefined;
}

/** The declared methods of 2025-11-25's tasks. The extension always cancels and never lists. */
export function coreTaskMethods({ sdk }: TaskClient): { readonly list: boolean; readonly cancel: boolean } {
  const capabilities = { ...sdk.getServerCapabilities() };
  return { list: serverLists(capabilities), cancel: serverCancels(capabilities) };
}
