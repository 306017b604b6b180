import type { Requirement } from "./requirement.ts";
import { sepCreation } from "./sep-creation.ts";
import { sepMethods, sepPublished } from "./sep-methods.ts";

/** Every requirement of the original proposal, SEP-1686. */
export const sep: readonly Requirement[] = [...sepCreation, ...sepMethods, ...sepPublished];
