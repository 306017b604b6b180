import {
  adminTaskStates,
  adminWaitReasons,
  type TaskSelection,
  type AdminTaskState,
  type AdminWaitReason,
} from "../../../../src/admin/admin.ts";

export const taskStates: readonly AdminTaskState[] = adminTaskStates;

export const reasons: readonly AdminWaitReason[] = adminWaitReasons;

export const ages = [
  ["15m", "15 minutes", 15 * 60_000],
  ["1h", "1 hour", 3_600_000],
  ["24h", "24 hours", 86_400_000],
  ["7d", "7 days", 7 * 86_400_000],
] as const;

/** Which tasks are listed, from the page's URL. */
export interface TaskFilter {
  readonly states: readonly AdminTaskState[];
  readonly waitsFor: AdminWaitReason | "";
  readonly tool: string;
  readonly principal: string;
  readonly age: string;
  readonly node: string;
  /** Of failures. */
  readonly cause: string;
  readonly text: string;
}

export function filterIn(query: URLSearchParams): TaskFilter {
  const given = query.getAll("state");
  return {
    states: taskStates.filter((state) => given.includes(state)),
    waitsFor: reasons.find((reason) => reason === query.get("waitsFor")) ?? "",
    tool: query.get("tool") ?? "",
    principal: query.get("principal") ?? "",
    age: ages.find(([age]) => age === query.get("age"))?.[0] ?? "",
    node: query.get("node") ?? "",
    cause: query.get("cause") ?? "",
    text: query.get("text") ?? "",
  };
}

/** The URL of the task list with this filter. */
export function pathOf({ states, ...others }: TaskFilter, after?: string): string {
  const query = new URLSearchParams();
  for (const state of states) query.append("state", state);
  for (const [name, value] of Object.entries(others)) if (value !== "") query.set(name, value);
  if (after !== undefined) query.set("after", after);
  return query.size === 0 ? "/" : `/?${query.toString()}`;
}

/** The URL of the task list with only this filter. */
export function tasksPath(chosen: Partial<TaskFilter>): string {
  return pathOf({ ...filterIn(new URLSearchParams()), ...chosen });
}

export function selectionOf(filter: TaskFilter, now: number): TaskSelection {
  const { states, waitsFor, tool, principal, node, cause, text } = filter;
  const age = ages.find(([name]) => name === filter.age)?.[2];
  return {
    ...(states.length > 0 && { states }),
    ...(waitsFor !== "" && { waitsFor: [waitsFor] }),
    ...(tool !== "" && { tool }),
    ...(principal !== "" && { principal }),
    ...(age !== undefined && { createdFrom: now - age }),
    ...(node !== "" && { owner: node }),
    ...(cause !== "" && { cause }),
    ...(text !== "" && { text }),
  };
}

export function isEmpty(filter: TaskFilter): boolean {
  return pathOf(filter) === "/";
}
