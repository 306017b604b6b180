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
  taskNotification,
  type SubscriptionId,
} from "../../generation/2026-07-28/listen.ts";
import { readCapabilities } from "../../generation/2026-07-28/negotiate.ts";
import type { HoldfastError } from "../../task/fault.ts";
import { missingForListen } from "../2026-07-28/admission.ts";
import type { TaskFeed } from "../listen/task-feed.ts";
import { messageFault } from "../message-fault.ts";
import type { TaskServer } from "../task-server.ts";
import { Turns } from "./turns.ts";

/** A listen request for tasks: what it listens to, or what it is refused with once the SDK has checked the rest. */
interface Subscription {
  feed?: TaskFeed;
  fault?: unknown;
}

const cancelledMethod = "notifications/cancelled";

/**
 * A connection on which tasks can be listened to. The SDK serves every listen request, without its task ids; its
 * acknowledgement is completed on the way out, and from then on the tasks are pushed beside what the SDK pushes.
 */
export class ListenTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: <T extends JSONRPCMessage>(message: T, extra?: MessageExtraInfo) => void;
  readonly #wire: Transport;
  readonly #server: TaskServer;
  readonly #principal: string;
  /** By the id of the request; 1 and "1" are two, as they are two keys of a Map. */
  readonly #open = new Map<SubscriptionId, Subscription>();
  readonly #turns = new Turns();

  constructor(wire: Transport, server: TaskServer, principal: string) {
    this.#wire = wire;
    this.#server = server;
    this.#principal = principal;
  }

  async start(): Promise<void> {
    this.#wire.onmessage = (message, extra) => this.#receive(message, extra);
    this.#wire.onerror = (error) => this.onerror?.(error);
    this.#wire.onclose = () => {
      for (const id of this.#open.keys()) this.#forget(id);
      this.onclose?.();
    };
    await this.#wire.start();
  }

  close(): Promise<void> {
    return this.#wire.close();
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if (isJSONRPCNotification(message) && message.method === acknowledgedMethod) {
      await this.#acknowledge(message);
      return;
    }
    // Nothing is pushed after the answer to the listen request, be it a refusal or its end.
    if (!("method" in message) && message.id !== undefined) this.#forget(message.id);
    await this.#wire.send(message, options);
  }

  #receive(message: JSONRPCMessage, extra?: MessageExtraInfo): void {
    const fault = messageFault(message, this.#server.options.maxNesting);
    if (fault !== undefined) {
      this.#refuse(message, fault);
      return;
    }
    if (isJSONRPCRequest(message) && message.method === listenMethod) {
      this.#listen(message, extra).catch(this.#server.onError);
      return;
    }
    if (isJSONRPCNotification(message) && message.method === cancelledMethod) {
      this.#forget(message.params?.["requestId"]);
    }
    this.onmessage?.(message, extra);
  }

  /** A request is refused to the client, an answer to who asked; nothing is said of a notification. */
  #refuse(message: JSONRPCMessage, fault: HoldfastError): void {
    if ("id" in message && message.id !== undefined) {
      const refusal = { jsonrpc: "2.0" as const, id: message.id, error: this.#server.errorOf(fault) };
      if ("method" in message) this.#wire.send(refusal).catch(this.#server.onError);
      else this.onmessage?.(refusal);
    }
  }

  /** Has the ids looked up before the SDK sees the request, so that nothing comes between its check and the answer. */
  async #listen(message: JSONRPCRequest, extra?: MessageExtraInfo): Promise<void> {
    const { id, params } = message;
    // Earlier revisions, whose requests do not name one, know no such method: theirs is left as it is.
    const listening =
      params?._meta?.[PROTOCOL_VERSION_META_KEY] === undefined ? undefined : taskListening(params);
    if (listening === undefined) {
      this.onmessage?.(message, extra);
      return;
    }
    this.#forget(id); // an id that is used again means the new request
    const subscription: Subscription = {};
    this.#open.set(id, subscription);
    const { taskIds, others } = listening;
    const missing = missingForListen(readCapabilities(params) ?? {});
    try {
      if (missing !== undefined) throw missing;
      const feed = await this.#server.listen(taskIds, { principal: this.#principal });
      if (this.#open.get(id) !== subscription) {
        feed.close(); // cancelled meanwhile
        return;
      }
      subscription.feed = feed;
    } catch (fault) {
      if (this.#open.get(id) !== subscription) return;
      subscription.fault = fault;
    }
    // The extension is asked for before the rest of the filter is looked at.
    const rest = missing === undefined ? others : { ...others, notifications: {} };
    this.onmessage?.({ ...message, params: rest }, extra);
  }

  async #acknowledge(message: JSONRPCNotification): Promise<void> {
    const id = subscriptionOf(message.params);
    const subscription = id === undefined ? undefined : this.#open.get(id);
    if (id === undefined || subscription === undefined) {
      await this.#wire.send(message);
    } else if (subscription.feed === undefined) {
      const error = this.#server.errorOf(subscription.fault);
      this.#cancel(id);
      await this.#wire.send({ jsonrpc: "2.0", id, error });
    } else {
      const { feed } = subscription;
      await this.#wire.send({ ...message, params: acknowledgedTasks(message.params ?? {}, feed.accepted) });
      this.#push(id, feed).catch((error: unknown) => this.#failed(id, subscription, error));
    }
  }

  async #push(id: SubscriptionId, feed: TaskFeed): Promise<void> {
    while (await feed.changed()) {
      // One at a time: a client that does not read holds one message, however many times it listens.
      await this.#turns.take(async () => {
        const task = await feed.take();
        if (task !== undefined) await this.#wire.send(taskNotification(task, id));
      });
    }
  }

  /** The client hears that it is over: it listens again and gets the current states. */
  #failed(id: SubscriptionId, subscription: Subscription, error: unknown): void {
    if (this.#open.get(id) !== subscription) return; // the connection is closed
    this.#server.errorOf(error); // which reports what is not for the client
    this.#cancel(id);
    this.#wire.send(listenEnd(id)).catch(this.#server.onError);
  }

  /** Ends a subscription for the SDK too. */
  #cancel(id: SubscriptionId): void {
    this.#forget(id);
    this.onmessage?.({ jsonrpc: "2.0", method: cancelledMethod, params: { requestId: id } });
  }

  #forget(id: unknown): void {
    if (typeof id !== "string" && typeof id !== "number") return;
    this.#open.get(id)?.feed?.close();
    this.#open.delete(id);
  }
}
