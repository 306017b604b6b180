import { base } from "./base.ts";
import { core } from "./core.ts";
import type { Part } from "./driven.ts";
import { extension } from "./extension.ts";
import type { Requirement, Who } from "./requirement.ts";
import { sep } from "./sep.ts";

export type Side = "client" | "server";

export const requirements: readonly Requirement[] = [...core, ...extension, ...sep, ...base];

const whoOf = new Map<string, Who>(requirements.map(({ id, who }) => [id, who]));

/** Rows that a test proves without driving either side. */
export const undriven: ReadonlySet<string> = new Set([
  // They ask for a page.
  "B-050",
  "C-122",
  "C-127",
  "S-088",
  "S-093",
  // They ask for a table and for numbers in the code.
  "X-012",
  "B-P-006",
  // It compares texts that others have published.
  "S-P-002",
]);

/** Pure modules, which neither side owns. Their tests say which rows a decision is for, and prove none. */
const pure = /^test\/(?:generation|task)\//;

/** Of which sides the tests in a file prove rows: outside the folders of one side, of both. */
export function sidesOf(file: string): readonly Side[] {
  if (pure.test(file)) return [];
  if (file.startsWith("test/client/")) return ["client"];
  return /^test\/(?:server|runtime|wire|crash)\//.test(file) ? ["server"] : ["client", "server"];
}

/** The sides that have to be tried for a row. A requestor is first of all a client, a receiver a server. */
export function sidesFor(who: Who): readonly Side[] {
  if (who === "both") return ["client", "server"];
  return who === "client" || who === "requestor" ? ["client"] : ["server"];
}

/** The sides that a test drove. */
export function sidesDriven(driven: Readonly<Record<Part, boolean>>): readonly Side[] {
  const client = driven.client || driven.clientAsReceiver;
  const server = driven.server || driven.serverAsRequestor || (driven.runtime && !client);
  return [...(client ? ["client" as const] : []), ...(server ? ["server" as const] : [])];
}

/** Whether a test that drove `driven` can prove a row; one for both sides is proved by a test of each. */
export function canProve(id: string, driven: Readonly<Record<Part, boolean>>): boolean {
  const who = whoOf.get(id);
  if (who === undefined || undriven.has(id)) return true;
  const sides = sidesDriven(driven);
  if (who === "both") return sides.length > 0;
  if (who === "requestor" && driven.serverAsRequestor) return true;
  if (who === "receiver" && driven.clientAsReceiver) return true;
  return sidesFor(who).every((side) => sides.includes(side));
}

/** Whether a row has to be tried at every side that the tests of a file are for. */
export const isForBoth = (id: string): boolean => whoOf.get(id) === "both" && !undriven.has(id);
