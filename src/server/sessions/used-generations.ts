import { generation as core } from "../../generation/2025-11-25.ts";
import { generation as sep, namesTask, taskKey } from "../../generation/sep-1686.ts";
import type { JsonObject } from "../../generation/message.ts";

/** The generations of tasks that a session can have. */
export type SessionGeneration = typeof core | typeof sep;

/** The generation of the revision itself; undefined stands for a revision that is not agreed on yet. */
export function ownGeneration(version: string | undefined): SessionGeneration {
  return version === core ? core : sep;
}

/**
 * The generations whose tasks the sender of a request uses, as far as its params show that: `params.task` is of 2025-11-25, and the keys of
 * SEP-1686 in `_meta` are its own.
 */
export function generationsUsedIn(params: JsonObject): readonly SessionGeneration[] {
  return [...(params["task"] === undefined ? [] : [core]), ...(namesTask(params) ? [sep] : [])];
}

/** The params of a request that shows the use of the generation, and asks for nothing. */
export function paramsThatUse(generation: SessionGeneration): JsonObject {
  return generation === core ? { task: {} } : { _meta: { [taskKey]: {} } };
}

/** The generation of a name that was stored. */
export function isSessionGeneration(name: unknown): name is SessionGeneration {
  return name === core || name === sep;
}
