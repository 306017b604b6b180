import type { Services } from "../services.ts";
import type { Outbox } from "../../store/outbox.ts";
import { isLost } from "../../store/lost-store.ts";
import { HoldfastError } from "../../task/fault.ts";
import { deliveriesKeptMs } from "../../task/delivery.ts";
import { WebhookSender } from "./webhook-sender.ts";

/** Waits this long, so that changes made together cause one look. */
const lookAfterMs = 100;
/** How often it looks for unreported messages, and drops those that are too many or too old. */
const tidyEveryMs = 60_000;
const dropPage = 1_000;

/**
 * The webhooks of this process. A process that only serves leaves sending to others, but still drops messages that are too many or too old.
 */
export class Webhooks {
  readonly #services: Services;
  readonly #outbox: Outbox | undefined;
  #senders: readonly WebhookSender[] = [];
  #cancelLook: (() => void) | undefined;
  #cancelTidy: () => void = () => undefined;
  #tidying: Promise<void> = Promise.resolve();
  #ends = false;
  #rests = false;
  /** Those that sent messages before a rest. */
  #former: readonly WebhookSender[] = [];

  /** Throws `configuration` for a store that keeps nothing for webhooks. */
  constructor(services: Services) {
    this.#services = services;
    this.#outbox = services.store.outbox;
    if (services.webhooks.length > 0 && this.#outbox === undefined)
      throw new HoldfastError(
        "configuration",
        "This store does not support webhooks: it has no outbox (TaskStore.outbox).",
      );
  }

  start(): void {
    const { webhooks, clock } = this.#services;
    if (webhooks.length === 0 || this.#outbox === undefined || this.#ends) return;
    this.#send(this.#outbox);
    // A process that creates messages also enforces their limit: there may be no process that sends them.
    this.#cancelTidy = clock.every(tidyEveryMs, () => this.#tidy());
    this.#tidy();
  }

  /** Tasks have changed, so there may be something to send. */
  changed(): void {
    if (this.#senders.length === 0 || this.#cancelLook !== undefined || this.#ends) return;
    this.#cancelLook = this.#services.clock.after(lookAfterMs, () => {
      this.#cancelLook = undefined;
      this.look();
    });
  }

  /** Messages may be due. If the clock was set back, those that wait are due: their times may have been stored before. */
  look(isSetBack = false): void {
    for (const sender of this.#senders) sender.look(isSetBack);
  }

  /** Leaves messages to others, except those being sent. */
  rest(): void {
    this.#rests = true;
    for (const sender of this.#senders) sender.drain();
    this.#former = [...this.#former, ...this.#senders];
    this.#senders = [];
  }

  /** Takes messages again. */
  goOn(): void {
    this.#rests = false;
    if (this.#outbox !== undefined && !this.#ends) this.#send(this.#outbox);
    this.look();
  }

  #send(outbox: Outbox): void {
    const { webhooks, options } = this.#services;
    if (this.#rests || !options.roles.includes("work")) return;
    this.#senders = webhooks.map((hook) => new WebhookSender(hook, outbox, this.#services));
  }

  /** Takes no more messages. */
  drain(): void {
    this.#ends = true;
    this.#cancelLook?.();
    this.#cancelTidy();
    for (const sender of this.#senders) sender.drain();
  }

  /** Waits for messages being sent until `passed`, and leaves the rest to others. */
  async stop(passed: Promise<void>): Promise<void> {
    this.drain();
    const senders = [...this.#former, ...this.#senders];
    await Promise.all([this.#tidying, ...senders.map((sender) => sender.stop(passed))]);
  }

  #tidy(): void {
    this.look();
    this.#tidying = this.#tidying.then(() => this.#drop());
  }

  async #drop(): Promise<void> {
    const { store, clock, options, onError, events } = this.#services;
    let deliveries = 0;
    try {
      for (;;) {
        const now = clock.now();
        const before = clock.pastForAll - deliveriesKeptMs;
        const trim = {
          type: "trim_deliveries",
          now,
          most: options.maxDeliveries,
          before,
          limit: dropPage,
        } as const;
        const { dropped } = await store.write<"trim_deliveries">(trim);
        deliveries += dropped;
        if (dropped < dropPage || this.#ends) break;
      }
    } catch (error) {
      if (!isLost(error)) onError(error);
    }
    if (deliveries > 0) events?.emit({ type: "webhook.dropped", deliveries });
  }
}
