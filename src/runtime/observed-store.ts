import type { TaskStore } from "../store/store.ts";
import { eventfulWrite } from "./events/eventful-write.ts";
import type { ServerEvents } from "./events/server-events.ts";
import { countedWrite } from "./reports/counted-write.ts";
import type { ProcessCounts } from "./reports/process-counts.ts";
import { measuredWrite } from "./telemetry/measured-write.ts";
import type { ServerTelemetry } from "./telemetry/telemetry.ts";

export interface StoreObservers {
  readonly events?: ServerEvents | undefined;
  readonly counts?: ProcessCounts | undefined;
  readonly telemetry?: ServerTelemetry | undefined;
}

/** The store with writes that are counted and measured, and emit events; the store itself if nothing listens. */
export function observedStore(store: TaskStore, { events, counts, telemetry }: StoreObservers): TaskStore {
  if (events === undefined && counts === undefined && telemetry === undefined) return store;
  const get: TaskStore["get"] = (id) => store.get(id);
  const own: TaskStore["write"] = (command) => store.write(command);
  const measured = telemetry === undefined ? own : measuredWrite(store, telemetry.metrics);
  const counted = counts === undefined ? measured : countedWrite({ write: measured }, counts);
  const write = events === undefined ? counted : eventfulWrite({ write: counted, get }, events);
  // A store has parts of its own choice, and methods that need their own `this`.
  const bound = new Map<string | symbol, { readonly method: unknown; readonly own: unknown }>();
  return new Proxy(store, {
    get(target, name) {
      if (name === "write") return write;
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      const known = bound.get(name);
      if (known?.own === member) return known.method;
      const method: unknown = member.bind(target);
      bound.set(name, { method, own: member });
      return method;
    },
  });
}
