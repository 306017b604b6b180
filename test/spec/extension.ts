import { extensionBase, extensionPublished } from "./extension-base.ts";
import { extensionTasks } from "./extension-tasks.ts";
import type { Requirement } from "./requirement.ts";

/** Every requirement of generation 2026-07-28: the extension `io.modelcontextprotocol/tasks`. */
export const extension: readonly Requirement[] = [...extensionTasks, ...extensionPublished, ...extensionBase];
