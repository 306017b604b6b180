import type { GenerationName } from "../../task/generations.ts";

/** What records of this generation bear: the original proposal, whose ids the requestor makes. */
export const generation = "sep-1686" as const satisfies GenerationName;
