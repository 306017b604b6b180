import { coreCreation } from "./core-creation.ts";
import { coreMethods } from "./core-methods.ts";
import { coreDraft, corePublished } from "./core-published.ts";
import type { Requirement } from "./requirement.ts";

/** Every requirement of generation 2025-11-25: tasks in the core of the protocol. */
export const core: readonly Requirement[] = [...coreCreation, ...coreMethods, ...coreDraft, ...corePublished];
