import type { ChangeListener, TaskStore } from "../../src/store/store.ts";

/** How many turns of the event loop something takes, again and again. */
export type Delays = () => number;

export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/**
 * A store that takes its time to say what it has done, so that what it says arrives in another order. Its pages of journals
 * are small, so that questions are answered between two of them.
 */
export function slowStore(inner: TaskStore, delay: Delays): TaskStore {
  return new Proxy(inner, {
    get: (target, name: keyof TaskStore) => {
      const member = target[name];
      if (typeof member !== "function") return member;
      const method: (...args: never[]) => unknown = member.bind(target);
      if (name === "subscribe") return (listener: ChangeListener) => target.subscribe(late(listener, delay));
      if (name === "journal") {
        return async (id: string, from: string) => {
          const page = await target.journal(id, from, 2);
          await turns(delay());
          return page;
        };
      }
      return async (...args: never[]) => {
        const result = await method(...args);
        await turns(delay());
        return result;
      };
    },
  });
}

function late(listener: ChangeListener, delay: Delays): ChangeListener {
  return (changes, by) => void turns(delay()).then(() => listener(changes, by));
}
