import { readTaskIds, type TaskListening } from "../../generation/2026-07-28-listen.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { isHidden } from "../../task/fault.ts";
import { lineReader } from "../2026-07-28/line-reader.ts";
import type { Owner } from "../request.ts";
import { LineFeed } from "./line-feed.ts";
import type { ListenSlots } from "./listen-slots.ts";
import { Listening } from "./listening.ts";
import { TaskFeed } from "./task-feed.ts";

interface Terms {
  readonly runtime: Runtime;
  readonly slots: ListenSlots;
  /** How many tasks, logs and outputs one request may name. */
  readonly maxIdsPerListen: number;
}

/** The answer to a listen request; rejects with `invalid_params` and `limit_reached`, and if a read fails. */
export async function openListening(
  { taskIds, resources }: TaskListening,
  owner: Owner,
  { runtime, slots, maxIdsPerListen }: Terms,
): Promise<Listening> {
  const ids = readTaskIds(taskIds === undefined ? [] : taskIds, resources.length, maxIdsPerListen);
  const { principal, access } = owner;
  const release = slots.acquire(principal);
  const lines = new LineFeed(runtime);
  try {
    const isAccepted = async (resource: (typeof resources)[number]): Promise<boolean> => {
      try {
        return (await lines.add(resource, lineReader(owner))) !== undefined;
      } catch (error) {
        if (isHidden(error)) return false;
        throw error;
      }
    };
    const accepted = await Promise.all(resources.map(isAccepted));
    const uris = resources.filter((_, place) => accepted[place]).map(({ uri }) => uri);
    const tasks =
      taskIds === undefined
        ? undefined
        : await TaskFeed.open(runtime, { principal, scopes: access?.scopes }, ids);
    const missed = ids.length - (tasks?.accepted.length ?? 0) + resources.length - uris.length;
    return new Listening({ tasks, lines, uris, missed }, release);
  } catch (error) {
    lines.close();
    release();
    throw error;
  }
}
