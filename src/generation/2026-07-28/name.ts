import type { GenerationName } from "../../task/generations.ts";

/** The generation name in records: the protocol version that the extension builds on. */
export const generation = "2026-07-28" as const satisfies GenerationName;
