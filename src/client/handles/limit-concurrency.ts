import { ConcurrencyLimit } from "../../runtime/concurrency-limit.ts";
import type { HandleStore } from "./handle-store.ts";

/** The same store with a limit on concurrent operations; further ones wait in a queue. */
export function limitConcurrency(store: HandleStore, most: number): HandleStore {
  const limit = new ConcurrencyLimit(most);
  return {
    keep: async (call) => limit.run(async () => store.keep(call)),
    drop: async (call) => limit.run(async () => store.drop(call)),
    dropTask: async (task) => limit.run(async () => store.dropTask(task)),
    list: async () => limit.run(async () => store.list()),
    find: async (task) => limit.run(async () => store.find(task)),
    usesSession: async (session) => limit.run(async () => store.usesSession(session)),
    keepSession: async (session) => limit.run(async () => store.keepSession(session)),
    findSession: async (server, generation) => limit.run(async () => store.findSession(server, generation)),
    dropSession: async (session) => limit.run(async () => store.dropSession(session)),
    keepAnswer: async (task, question, answer) =>
      limit.run(async () => store.keepAnswer(task, question, answer)),
    answer: async (task, question) => limit.run(async () => store.answer(task, question)),
  };
}
