import { createRuntime } from "../../src/runtime/create-runtime.ts";
import type { ServerEvent } from "../../src/runtime/events/server-event.ts";
import { ServerEvents } from "../../src/runtime/events/server-events.ts";
import type { RuntimeOptions } from "../../src/runtime/options.ts";
import type { Runtime } from "../../src/runtime/runtime.ts";
import { Registry } from "../../src/runtime/tool/registry.ts";
import type { ServerTelemetry } from "../../src/runtime/telemetry/telemetry.ts";
import type { WebhookOptions } from "../../src/runtime/webhooks/webhook-options.ts";
import { memoryDatabase, memoryStore } from "../../src/store/sqlite/memory-store.ts";
import type { TaskStore } from "../../src/store/store.ts";
import { FakeClock } from "../../src/testing/clocks.ts";
import type { TaskContext } from "../../src/runtime/tool/task-context.ts";
import type { Receiver } from "./receiver.ts";

export const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

/** More than the pause in which changes are collected. */
export const aMoment = 200;
export const hour = 3_600_000;

/** A webhook of a receiver on this machine. */
export function hookOf(receiver: Receiver, options: Partial<WebhookOptions> = {}): WebhookOptions {
  return {
    name: "main",
    url: receiver.url,
    secret,
    allowHttp: true,
    allowPrivate: ["127.0.0.1"],
    ...options,
  };
}

export interface HookedSetup {
  readonly webhooks: readonly WebhookOptions[];
  readonly options?: RuntimeOptions;
  readonly database?: ReturnType<typeof memoryDatabase>;
  readonly clock?: FakeClock;
  readonly handler?: (task: TaskContext) => Promise<void>;
  readonly telemetry?: ServerTelemetry;
}

type EventOf<T extends ServerEvent["type"]> = Extract<ServerEvent, { readonly type: T }>;

/** A process with webhooks and one tool, `work`, on a clock that stands still. */
export class HookedProcess {
  readonly clock: FakeClock;
  /** Without a runtime around it. */
  readonly store: TaskStore;
  readonly runtime: Runtime;
  readonly events: ServerEvent[] = [];
  readonly errors: unknown[] = [];
  #waiting: (() => void)[] = [];

  constructor({
    webhooks,
    options = {},
    database,
    clock = new FakeClock(),
    handler,
    telemetry,
  }: HookedSetup) {
    this.clock = clock;
    const registry = new Registry();
    registry.add("work", {}, async (_, task) => {
      await handler?.(task);
      return { content: [] };
    });
    const onError = (error: unknown): void => void this.errors.push(error);
    const onEvent = (event: ServerEvent): void => {
      this.events.push(event);
      telemetry?.metrics.event(event);
      for (const resolve of this.#waiting.splice(0)) resolve();
    };
    const events = new ServerEvents({ listeners: [onEvent], clock, onError });
    this.store = memoryStore(database ?? memoryDatabase());
    this.runtime = createRuntime({
      store: this.store,
      registry,
      options,
      clock,
      onError,
      events,
      webhooks,
      telemetry,
    });
  }

  /** A task that is called and works off its handler; resolves with its id. */
  async call(): Promise<string> {
    const call = {
      generation: "2026-07-28",
      principal: "ann",
      tool: "work",
      arguments: {},
      origin: { capabilities: {} },
    } as const;
    return (await this.runtime.create(call)).task.id;
  }

  /** Resolves once so many events of a type have come. */
  async told<T extends ServerEvent["type"]>(type: T, count = 1): Promise<readonly EventOf<T>[]> {
    const of = (): readonly EventOf<T>[] =>
      this.events.filter((event): event is EventOf<T> => event.type === type);
    while (of().length < count) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return of();
  }
}
