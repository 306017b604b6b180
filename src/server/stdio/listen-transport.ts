import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  PROTOCOL_VERSION_META_KEY,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type MessageExtraInfo,
  type Transport,
  type TransportSendOptions,
} from "@modelcontextprotocol/server";
import {
  acknowledgedMethod,
  acknowledgedTasks,
  listenEnd,
  listenMethod,
  subscriptionOf,
  taskListening,
  type SubscriptionId,
} from "../../generation/2026-07-28-listen.ts";
import { readCapabilities } from "../../generation/2026-07-28.ts";
import { missingForListen } from "../2026-07-28/admission.ts";
import type { Listening } from "../listen/listening.ts";
import { PipeTransport, type PipeSetup } from "../serve-transport.ts";
import { ConnectionTraces } from "../tracing.ts";

/** A listen request for tasks: what is pushed, or the fault that it is refused with once the SDK has checked the rest. */
interface Subscription {
  pushed?: Listening;
  fault?: unknown;
}

const cancelledMethod = "notifications/cancelled";

/**
 * A connection whose client can listen to tasks. The SDK answers every listen request, without our part. That part is added to the SDK's
 * acknowledgement, and from then on changes of tasks are pushed in addition to what the SDK pushes.
 */
export class ListenTransport extends PipeTransport {
  /** By the id of the request; 1 and "1" are two, as they are two keys of a Map. */
  readonly #subscriptions = new Map<SubscriptionId, Subscription>();
  readonly #turns = new Turns();
  /** For listen requests, which never reach a server; undefined if nothing is traced. */
  readonly #traces: ConnectionTraces | undefined;

  constructor(wire: Transport, setup: PipeSetup) {
    super(wire, setup);
    const { tracing } = setup.server;
    this.#traces = tracing && new ConnectionTraces({ tracing, transport: "stdio" });
  }

  override async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if (isJSONRPCNotification(message) && message.method === acknowledgedMethod) {
      await this.#acknowledge(message);
      return;
    }
    if (!("method" in message)) {
      // Nothing is pushed after the answer to the listen request.
      if (message.id !== undefined) this.#forget(message.id);
      this.#traces?.answered(message);
    }
    await super.send(message, options);
  }

  protected override received(message: JSONRPCMessage, extra?: MessageExtraInfo): void {
    if (isJSONRPCRequest(message) && message.method === listenMethod) {
      this.#listen(message, extra).catch(this.setup.server.onError);
      return;
    }
    if (isJSONRPCNotification(message) && message.method === cancelledMethod) {
      const id = message.params?.["requestId"];
      this.#forget(id);
      if (typeof id === "string" || typeof id === "number") this.#traces?.cancelled(id);
    }
    super.received(message, extra);
  }

  protected override closed(): void {
    for (const id of this.#subscriptions.keys()) this.#forget(id);
    this.#traces?.close();
    super.closed();
  }

  /** Looks the ids up before the SDK gets the request, so that the SDK's acknowledgement can be completed at once. */
  async #listen(message: JSONRPCRequest, extra?: MessageExtraInfo): Promise<void> {
    const { id, params } = message;
    // Requests of earlier revisions name no version. They have no such method, which the SDK answers.
    const isModern = params?._meta?.[PROTOCOL_VERSION_META_KEY] !== undefined;
    if (isModern) this.#traces?.begin(message);
    const listening = isModern ? taskListening(params) : undefined;
    if (listening === undefined) {
      this.onmessage?.(message, extra);
      return;
    }
    this.#forget(id); // an id that is used again means the new request
    const subscription: Subscription = {};
    this.#subscriptions.set(id, subscription);
    const { others } = listening;
    const { server, sender } = this.setup;
    const missing = missingForListen(listening, readCapabilities(params) ?? {});
    try {
      if (missing !== undefined) throw missing;
      const pushed = await server.listen(listening, sender);
      if (this.#subscriptions.get(id) !== subscription) {
        pushed.close(); // cancelled meanwhile
        return;
      }
      subscription.pushed = pushed;
    } catch (fault) {
      if (this.#subscriptions.get(id) !== subscription) return;
      subscription.fault = fault;
    }
    // A missing extension is refused before the rest of the filter is validated.
    const rest = missing === undefined ? others : { ...others, notifications: {} };
    this.onmessage?.({ ...message, params: rest }, extra);
  }

  async #acknowledge(message: JSONRPCNotification): Promise<void> {
    const id = subscriptionOf(message.params);
    const subscription = id === undefined ? undefined : this.#subscriptions.get(id);
    if (id === undefined || subscription === undefined) {
      await super.send(message);
    } else if (subscription.pushed === undefined) {
      const error = this.setup.server.errorOf(subscription.fault);
      this.#cancel(id);
      await this.send({ jsonrpc: "2.0", id, error });
    } else {
      const { accepted } = subscription.pushed;
      await super.send({ ...message, params: acknowledgedTasks(message.params ?? {}, accepted) });
      // One at a time, so that only one message waits for a client that does not read, however often it listens.
      const pushed = subscription.pushed.push(id, (next) =>
        this.#turns.take(async () => {
          const made = await next();
          if (made !== undefined) await super.send(made);
        }),
      );
      pushed.catch((error: unknown) => this.#failed(id, subscription, error));
    }
  }

  /** Ends the subscription: the client can listen again and gets the current states. */
  #failed(id: SubscriptionId, subscription: Subscription, error: unknown): void {
    if (this.#subscriptions.get(id) !== subscription) return; // the connection is closed
    this.setup.server.errorOf(error); // which reports what the client must not see
    this.#cancel(id);
    this.send(listenEnd(id)).catch(this.setup.server.onError);
  }

  /** Ends a subscription for the SDK too. */
  #cancel(id: SubscriptionId): void {
    this.#forget(id);
    this.onmessage?.({ jsonrpc: "2.0", method: cancelledMethod, params: { requestId: id } });
  }

  #forget(id: unknown): void {
    if (typeof id !== "string" && typeof id !== "number") return;
    this.#subscriptions.get(id)?.pushed?.close();
    this.#subscriptions.delete(id);
  }
}

/** Runs work one at a time, in the order of the calls. */
class Turns {
  #last: Promise<void> = Promise.resolve();

  /** Settles as `work` does; a failure does not stop the work that waits. */
  take(work: () => Promise<void>): Promise<void> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => undefined);
    return done;
  }
}
