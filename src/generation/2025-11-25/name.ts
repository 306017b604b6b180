import type { GenerationName } from "../../task/generations.ts";

/** The generation name in records: the protocol version that has tasks in its core. */
export const generation = "2025-11-25" as const satisfies GenerationName;
