import type { HandleStore } from "./handle-store.ts";

/** The same store with a limit on concurrent operations; further ones wait in a queue. */
export function limitConcurrency(store: HandleStore, most: number): HandleStore {
  const queue: (() => void)[] = [];
  let active = 0;
  async function limited<Value>(work: () => Promise<Value>): Promise<Value> {
    if (active < most) active++;
    else await new Promise<void>((resolve) => queue.push(resolve));
    try {
      return await work();
    } finally {
      const next = queue.shift();
      if (next === undefined) active--;
      else next();
    }
  }
  return {
    keep: async (call) => limited(async () => store.keep(call)),
    drop: async (call) => limited(async () => store.drop(call)),
    dropTask: async (task) => limited(async () => store.dropTask(task)),
    list: async () => limited(async () => store.list()),
    find: async (task) => limited(async () => store.find(task)),
    keepAnswer: async (task, question, answer) =>
      limited(async () => store.keepAnswer(task, question, answer)),
    answer: async (task, question) => limited(async () => store.answer(task, question)),
  };
}
