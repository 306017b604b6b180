import type { TaskStore } from "../store/store.ts";
import type { CommandResult, TaskCommand, TaskCommandName } from "../task/command.ts";
import type { Commits } from "./commits.ts";
import type { Lease } from "./dispatch/lease.ts";
import { eventfulWrite } from "./events/eventful-write.ts";
import type { ServerEvents } from "./events/server-events.ts";
import { countedWrite } from "./reports/counted-write.ts";
import type { ProcessCounts } from "./reports/process-counts.ts";
import { measuredWrite } from "./telemetry/measured-write.ts";
import type { ServerTelemetry } from "./telemetry/telemetry.ts";

interface StoreObservers {
  readonly commits: Commits;
  readonly lease: Lease;
  readonly events?: ServerEvents | undefined;
  readonly counts?: ProcessCounts | undefined;
  readonly telemetry?: ServerTelemetry | undefined;
}

/** The store with writes that are watched, counted and measured, and emit events. */
export function observedStore(
  store: TaskStore,
  { commits, lease, events, counts, telemetry }: StoreObservers,
): TaskStore {
  const get: TaskStore["get"] = (id) => store.get(id);
  function own<N extends TaskCommandName>(command: TaskCommand<N>): Promise<CommandResult<N>>;
  function own(command: TaskCommand): Promise<CommandResult> {
    return lease.during(command, commits.watch(store.write(command)));
  }
  const measured = telemetry === undefined ? own : measuredWrite({ write: own }, telemetry.metrics);
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
