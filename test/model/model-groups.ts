import type { TaskChange } from "../../src/store/store.ts";
import type { TaskRecord } from "../../src/task/record.ts";
import { compareNames } from "../../src/task/queue.ts";
import type { Answer, Model } from "./model-state.ts";
import { apply, type StoreCommand } from "./model.ts";
import { assertPromises } from "./promises.ts";

/** What an owner asks for at once. */
export interface Group {
  readonly by: string;
  readonly commands: readonly StoreCommand[];
}

/** Where stores do not wait for each other, it passes by what another one is writing. */
export function looksForTasks({ type }: StoreCommand): boolean {
  return type === "claim" || type === "wake" || type === "delete_expired";
}

/**
 * Without what depends on how groups meet, where stores do not wait for each other: what looks for tasks, and a task under an id of its own
 * that somebody else chooses for a name at the same moment.
 */
export function withoutLuck(groups: readonly Group[]): readonly Group[] {
  if (groups.length === 1) return groups;
  return groups.map(({ by, commands }, place) => {
    const isMade = (command: StoreCommand): boolean =>
      place > 0 &&
      command.type === "create" &&
      groups[0]?.commands.some(({ type }) => type === "create") === true;
    return { by, commands: commands.filter((each) => !looksForTasks(each) && !isMade(each)) };
  });
}

/** What a group came to. */
export interface Written {
  readonly answers: readonly Answer[];
  readonly changes: readonly TaskChange[];
}

interface Applied {
  readonly model: Model;
  readonly written: readonly Written[];
  /** What commands did to other tasks than their own. */
  readonly around: readonly string[];
}

/** What groups make of a store, one after the other. */
export function applyAll(before: Model, groups: readonly Group[]): Applied {
  let model = before;
  const around: string[] = [];
  const written = groups.map(({ by, commands }) => {
    const answers: Answer[] = [];
    const changes: TaskChange[] = [];
    for (const command of commands) {
      const step = apply(model, by, command);
      assertPromises(model, step.model, command);
      for (const { id, isRelative } of step.changes) {
        const [old, now] = [model, step.model].map(({ tasks }) => tasks.get(id)?.task);
        if (isRelative) around.push(`${command.type}: another ${newsOf(old, now)}`);
      }
      model = step.model;
      answers.push(step.answer);
      changes.push(...step.changes);
    }
    return { answers, changes };
  });
  return { model, written, around };
}

/** What groups of different owners may make of a store that are asked for at the same time: `whole` ones one after the other, others command by command. */
export function applyInAnyOrder(before: Model, groups: readonly Group[], whole: boolean): readonly Applied[] {
  const places = groups.map((_, place) => place);
  const orders = whole
    ? [places, places.toReversed()]
    : mergesOf(groups.map(({ commands }, place) => commands.map(() => place)));
  return orders.map((order) =>
    whole ? applyWhole(before, groups, order) : applyMerged(before, groups, order),
  );
}

function applyWhole(before: Model, groups: readonly Group[], order: readonly number[]): Applied {
  const applied = applyAll(
    before,
    order.flatMap((place) => groups[place] ?? []),
  );
  const written = order.map((_, place) => applied.written[order.indexOf(place)] ?? nothing);
  return { ...applied, written };
}

/** The order says of each command whose it is. */
function applyMerged(before: Model, groups: readonly Group[], order: readonly number[]): Applied {
  const left = groups.map(({ commands }) => [...commands]);
  const single = order.map((place) => ({
    by: groups[place]?.by ?? "",
    commands: left[place]?.splice(0, 1) ?? [],
  }));
  const applied = applyAll(before, single);
  const written = groups.map((_, place) => {
    const own = applied.written.filter((_each, index) => order[index] === place);
    return {
      answers: own.flatMap(({ answers }) => answers),
      changes: byTask(own.flatMap(({ changes }) => changes)),
    };
  });
  return { ...applied, written };
}

/** Those of each task in their order. */
export function byTask(changes: readonly TaskChange[]): readonly TaskChange[] {
  return changes.toSorted((one, other) => compareNames(one.id, other.id));
}

/** All orders of the members of two lists that keep the order of each. */
function mergesOf([one = [], other = []]: readonly (readonly number[])[]): readonly (readonly number[])[] {
  const [first, ...rest] = one;
  const [second, ...others] = other;
  if (first === undefined || second === undefined) return [[...one, ...other]];
  return [
    ...mergesOf([rest, other]).map((order) => [first, ...order]),
    ...mergesOf([one, others]).map((order) => [second, ...order]),
  ];
}

const nothing: Written = { answers: [], changes: [] };

function newsOf(old: TaskRecord | undefined, now: TaskRecord | undefined): string {
  if (old === undefined || now === undefined) return "is made";
  if (now.version > old.version + 1) return "is asked less, and its call ends";
  if (now.childInputs !== old.childInputs) return "is asked";
  if (now.cancelRequestedAt !== old.cancelRequestedAt) return "is to be cancelled";
  return old.lane !== now.lane ? "is woken" : `goes on ${now.state}`;
}
