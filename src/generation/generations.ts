import type { GenerationName } from "../task/record.ts";
import { generation as core } from "./2025-11-25.ts";
import { generation as extension } from "./2026-07-28.ts";
import { generation as sep } from "./sep-1686.ts";
import type { CapabilityPlace } from "./extensions.ts";

/** The wire form of a generation of tasks. */
interface WireGeneration {
  /** The protocol versions of these tasks, newest first. */
  readonly versions: readonly string[];
  /** Protocol versions with tasks of their own in which a client may ask for these instead. */
  readonly alsoIn: readonly string[];
  /** Whether a connection begins with `initialize`, which creates a session; otherwise each request stands alone. */
  readonly hasSessions: boolean;
  /** Where both sides declare extensions to the protocol. */
  readonly declaresUnder: CapabilityPlace;
}

/** The generations by their names, newest first. */
export const wireGenerations = {
  [extension]: { versions: ["2026-07-28"], alsoIn: [], hasSessions: false, declaresUnder: "extensions" },
  [core]: { versions: ["2025-11-25"], alsoIn: [], hasSessions: true, declaresUnder: "experimental" },
  [sep]: {
    versions: ["2025-06-18", "2025-03-26", "2024-11-05"],
    alsoIn: ["2025-11-25"],
    hasSessions: true,
    declaresUnder: "experimental",
  },
} as const satisfies Readonly<Partial<Record<GenerationName, WireGeneration>>>;

export type WireGenerationName = keyof typeof wireGenerations;

/** A version of MCP that the client can speak. */
export type ProtocolVersion = (typeof wireGenerations)[WireGenerationName]["versions"][number];

const entries = Object.entries(wireGenerations) as readonly [WireGenerationName, WireGeneration][];

/** The supported protocol versions, newest first. */
export const protocolVersions: readonly string[] = entries.flatMap(([, { versions }]) => versions);

/** Whether `name` names a generation with a wire form. */
export function isWireGeneration(name: string): name is WireGenerationName {
  return Object.hasOwn(wireGenerations, name);
}

/** The generations that a client may ask for in protocol versions with tasks of their own. */
export const askableGenerations: readonly WireGenerationName[] = entries
  .filter(([, { alsoIn }]) => alsoIn.length > 0)
  .map(([name]) => name);

/** Whether connections of a protocol version begin with `initialize`. */
export function hasSessions(version: string): boolean {
  return wireGenerations[generationAt(version)].hasSessions;
}

/** Whether this generation is available in a protocol version. */
export function isSpokenIn(name: WireGenerationName, version: string): boolean {
  const { versions, alsoIn }: WireGeneration = wireGenerations[name];
  return versions.includes(version) || alsoIn.includes(version);
}

/**
 * The generation of a connection with this protocol version: the one asked for, if it is available there, otherwise the version's own. For
 * other versions it is the oldest, which clients use without declaring it.
 */
export function generationAt(version: string | undefined, asked?: WireGenerationName): WireGenerationName {
  if (version !== undefined && asked !== undefined && isSpokenIn(asked, version)) return asked;
  const own = entries.find(([, { versions }]) => version !== undefined && versions.includes(version));
  return own?.[0] ?? sep;
}
