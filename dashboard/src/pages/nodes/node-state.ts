import type { NodeSummary } from "../../../../src/admin/activity.ts";

/**
 * `quiet`: it has sent no report, like a command line. `silent`: it is alive, but its report is overdue. `draining`: it takes nothing new;
 * `empty`: and it has nothing left.
 */
export type NodeState = "alive" | "silent" | "quiet" | "draining" | "empty" | "gone";

/** Processes report every 10 seconds. One that missed three reports is late. */
export const silentAfterMs = 30_000;

export function nodeState({ alive, reportedAt, draining }: NodeSummary, now: number): NodeState {
  if (!alive) return "gone";
  if (draining !== null) return draining.left === 0 ? "empty" : "draining";
  if (reportedAt === null) return "quiet";
  return now - reportedAt > silentAfterMs ? "silent" : "alive";
}

export const nodeStateNames: Readonly<Record<NodeState, string>> = {
  alive: "Alive",
  silent: "Silent",
  quiet: "No report",
  draining: "Draining",
  empty: "Empty",
  gone: "Gone",
};

/** Details about a node that is not simply alive. */
export function nodeStateText(node: NodeSummary, now: number): string | null {
  switch (nodeState(node, now)) {
    case "alive":
      return null;
    case "silent":
      return "It still holds its tasks but has not reported for a while: it may be overloaded or unable to write to the store.";
    case "quiet":
      return "It sends no reports: it may be a command-line tool.";
    case "draining":
      return drainingText(node.draining?.left ?? null);
    case "empty":
      return "It takes nothing new and has nothing left: it can be stopped.";
    case "gone":
      return goneText(node.running);
  }
}

function drainingText(left: number | null): string {
  const text = "It takes nothing new, and finishes or hands over what it has";
  return left === null ? `${text}.` : `${text}: ${left} left.`;
}

function goneText(running: number): string {
  if (running === 0) return "Its tasks have ended or were taken over by other processes.";
  const held = running === 1 ? "1 of its tasks is waiting" : `${running} of its tasks are waiting`;
  return `${held} for another process to take over.`;
}

const order: readonly NodeState[] = ["silent", "draining", "empty", "alive", "quiet", "gone"];

/** Nodes that need attention first, then by name, so that rows keep their places. */
export function inOrder(nodes: readonly NodeSummary[], now: number): readonly NodeSummary[] {
  const place = (node: NodeSummary): number => order.indexOf(nodeState(node, now));
  return [...nodes].sort(
    (a, b) => place(a) - place(b) || compare(nameOf(a), nameOf(b)) || compare(a.id, b.id),
  );
}

/** Where it runs, as far as it has reported that. */
export function nameOf({ host, pid }: NodeSummary): string {
  if (host === null) return "";
  return pid === null ? host : `${host}:${pid}`;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export function memoryText(bytes: number): string {
  const mib = bytes / 1_048_576;
  return mib < 1_024 ? `${Math.round(mib)} MiB` : `${(mib / 1_024).toFixed(1)} GiB`;
}

/** Event loop delays: below 10 ms, the decimal matters. */
export function delayText(ms: number): string {
  return ms < 10 ? ms.toFixed(1) : String(Math.round(ms));
}
