import { baseSdk } from "./base-sdk.ts";
import { basePublished, baseTransport } from "./base-transport.ts";
import type { Requirement } from "./requirement.ts";

/** What MCP has besides tasks, all of which works beside them. */
export const base: readonly Requirement[] = [...baseSdk, ...baseTransport, ...basePublished];
