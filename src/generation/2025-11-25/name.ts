import type { GenerationName } from "../../task/generations.ts";

/** What records of this generation bear: the protocol version that has tasks in its core. */
export const generation = "2025-11-25" as const satisfies GenerationName;
