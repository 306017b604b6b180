import type { HandleStore } from "./handle-store.ts";

/** The same store, which is asked for so many things at once at most; what is more waits its turn. */
export function boundedHandles(store: HandleStore, most: number): HandleStore {
  const queue: (() => void)[] = [];
  let underWay = 0;
  async function inTurn<Value>(work: () => Promise<Value>): Promise<Value> {
    if (underWay < most) underWay++;
    else await new Promise<void>((resolve) => queue.push(resolve));
    try {
      return await work();
    } finally {
      const next = queue.shift();
      if (next === undefined) underWay--;
      else next();
    }
  }
  return {
    keep: async (call) => inTurn(async () => store.keep(call)),
    drop: async (call) => inTurn(async () => store.drop(call)),
    dropTask: async (task) => inTurn(async () => store.dropTask(task)),
    list: async () => inTurn(async () => store.list()),
    find: async (task) => inTurn(async () => store.find(task)),
    keepAnswer: async (task, question, answer) =>
      inTurn(async () => store.keepAnswer(task, question, answer)),
    answer: async (task, question) => inTurn(async () => store.answer(task, question)),
  };
}
