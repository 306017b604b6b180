import type { GenerationName } from "../../task/generations.ts";

/** What records of this generation bear: the protocol version that its extension stands on. */
export const generation = "2026-07-28" as const satisfies GenerationName;
