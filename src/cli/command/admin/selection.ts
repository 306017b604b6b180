import type { TaskSelection, AdminTaskState, AdminWaitReason } from "../../../admin/admin.ts";
import { adminTaskStates, adminWaitReasons } from "../../../admin/task-state.ts";
import { readTimeSpan } from "../../arguments/times.ts";
import { UsageError } from "../../errors.ts";

/** Which tasks to select. */
export interface SelectionOptions {
  readonly state?: readonly string[];
  readonly waitsFor?: readonly string[];
  readonly tool?: string;
  readonly principal?: string;
  /** Tasks of unidentified callers. */
  readonly nobody?: true;
  /** The id of a process. */
  readonly node?: string;
  readonly olderThan?: string;
  readonly newerThan?: string;
  readonly text?: string;
  /** Tasks that were run again as others. */
  readonly retried?: true;
  readonly notRetried?: true;
}

/** The tasks that options select at one time. Throws a UsageError for an invalid selection. */
export function selectionOf(options: SelectionOptions, now: number): TaskSelection {
  const { state, waitsFor, tool, principal, nobody, node, olderThan, newerThan, text } = options;
  const { retried, notRetried } = options;
  if (retried === true && notRetried === true)
    throw new UsageError("Give --retried or --not-retried, not both.");
  if (principal !== undefined && nobody === true)
    throw new UsageError("Give --principal or --nobody, not both.");
  return {
    ...(state !== undefined && { states: state.map(stateNamed) }),
    ...(waitsFor !== undefined && { waitsFor: waitsFor.map(reasonNamed) }),
    ...(tool !== undefined && { tool }),
    ...(principal !== undefined && { principal }),
    ...(nobody === true && { principal: null }),
    ...(node !== undefined && { owner: node }),
    ...(newerThan !== undefined && { createdFrom: now - readTimeSpan("--newer-than", newerThan) }),
    ...(olderThan !== undefined && { createdBefore: now - readTimeSpan("--older-than", olderThan) }),
    ...(text !== undefined && { text }),
    ...(retried === true && { retried }),
    ...(notRetried === true && { retried: false }),
  };
}

/** As command-line options, for messages. */
export function selectionText({ state = [], waitsFor = [], ...others }: SelectionOptions): string {
  const { tool, principal, nobody, node, olderThan, newerThan, text, retried, notRetried } = others;
  const parts = [
    ...state.map((one) => `state ${one}`),
    ...waitsFor.map((one) => `waiting for ${one}`),
    tool !== undefined && `tool ${tool}`,
    principal !== undefined && `principal ${principal}`,
    nobody === true && "of unidentified callers",
    node !== undefined && `node ${node}`,
    olderThan !== undefined && `older than ${olderThan}`,
    newerThan !== undefined && `newer than ${newerThan}`,
    text !== undefined && `text "${text}"`,
    retried === true && "retried",
    notRetried === true && "not retried",
  ].filter((part) => part !== false);
  return parts.length === 0 ? "all" : parts.join(", ");
}

function stateNamed(given: string): AdminTaskState {
  const found = adminTaskStates.find((name) => name === given);
  if (found !== undefined) return found;
  throw new UsageError(
    `There is no state ${JSON.stringify(given)}. The states are ${adminTaskStates.join(", ")}.`,
  );
}

function reasonNamed(given: string): AdminWaitReason {
  const found = adminWaitReasons.find((name) => name === given);
  if (found !== undefined) return found;
  throw new UsageError(
    `Tasks do not wait for ${JSON.stringify(given)}. They wait for ${adminWaitReasons.join(", ")}.`,
  );
}
