import type { GenerationName } from "../../task/generations.ts";

/** The generation name in records: the original proposal, in which requestors choose the ids. */
export const generation = "sep-1686" as const satisfies GenerationName;
