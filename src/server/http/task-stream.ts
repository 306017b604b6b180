import {
  acknowledgedMethod,
  acknowledgedTasks,
  listenEnd,
  type SubscriptionId,
} from "../../generation/2026-07-28-listen.ts";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import type { ErrorOf } from "../faults.ts";
import type { Listening } from "../listen/listening.ts";
import type { Principal } from "../per-principal.ts";
import { keepAliveComment, keepAliveMs, messageEvent, sseEvents } from "./sse.ts";
import { UnreadError, type Backlog, type UnreadBytes } from "./unread-bytes.ts";

export interface TaskStreamSetup {
  /** The SDK's stream for the same request without what it asks of us. */
  readonly sdk: ReadableStream<Uint8Array>;
  readonly listening: Listening;
  readonly id: SubscriptionId;
  readonly unread: UnreadBytes;
  readonly holder: Principal;
  /** Aborts when the client is gone. */
  readonly signal: AbortSignal;
  readonly errorOf: ErrorOf;
  readonly onEnd: () => void;
}

/**
 * One subscription over HTTP: the SDK's stream with its acknowledgement completed, and what is pushed of tasks among its
 * notifications. Each source writes its next message only after the client took the one before, so a client that
 * does not read holds one message of each.
 */
export class TaskStream {
  readonly readable: ReadableStream<Uint8Array>;
  readonly #setup: TaskStreamSetup;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #backlog: Backlog;
  /** Bytes that the client has not taken yet. */
  #waiting = 0;
  /** The SDK's answer to the request, which it gives at once if the request only listens to tasks. */
  #last: object | undefined;
  #keepAlive: NodeJS.Timeout | undefined;
  #over = false;

  constructor(setup: TaskStreamSetup) {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    this.readable = readable;
    this.#setup = setup;
    this.#reader = setup.sdk.getReader();
    this.#writer = writable.getWriter();
    this.#backlog = setup.unread.open(setup.holder, () => this.#abandon());
  }

  start(): void {
    const { signal } = this.#setup;
    this.#writer.closed.catch(() => this.#stop()); // the client does not read any more
    signal.addEventListener("abort", this.#abandon, { once: true });
    if (signal.aborted) this.#abandon();
    this.#relay().catch((error: unknown) => this.#failed(error));
  }

  /** Answers the listen request and closes the stream. */
  end(): void {
    if (this.#over) return;
    this.#stop();
    const gone = (): void => undefined;
    this.#writer.write(messageEvent(this.#last ?? listenEnd(this.#setup.id))).catch(gone);
    this.#writer.close().catch(gone);
  }

  readonly #abandon = (): void => {
    this.#stop();
    this.#writer.abort(new UnreadError()).catch(() => undefined);
  };

  /** Resolves when the client has taken `bytes`. */
  async #write(bytes: Uint8Array): Promise<void> {
    this.#backlog.hold((this.#waiting += bytes.byteLength));
    await this.#writer.write(bytes);
    this.#backlog.hold((this.#waiting -= bytes.byteLength));
  }

  async #relay(): Promise<void> {
    const { listening } = this.#setup;
    let onlyTasks = false;
    for await (const { bytes, message } of sseEvents(this.#reader)) {
      if (!isJsonObject(message)) {
        await this.#write(bytes);
      } else if (message["method"] === acknowledgedMethod) {
        const params = isJsonObject(message["params"]) ? message["params"] : {};
        onlyTasks = asksForNothing(params);
        const acknowledged = { ...message, params: acknowledgedTasks(params, listening.accepted) };
        await this.#write(messageEvent(acknowledged));
        for (const pushes of listening.pushes) {
          this.#push(pushes).catch((error: unknown) => this.#failed(error));
        }
      } else if ("id" in message) {
        this.#last = message;
      } else {
        await this.#write(bytes);
      }
    }
    if (!onlyTasks) this.end();
    else if (!this.#over) this.#keepAlive = setInterval(() => this.#beat(), keepAliveMs).unref();
  }

  async #push(pushes: Listening["pushes"][number]): Promise<void> {
    const { id } = this.#setup;
    while (await pushes.changed()) {
      await this.#writer.ready;
      const message = await pushes.next(id);
      if (message !== undefined) await this.#write(messageEvent(message));
    }
  }

  #beat(): void {
    // A client that does not read needs no more to read.
    if ((this.#writer.desiredSize ?? 0) > 0) this.#writer.write(keepAliveComment).catch(() => undefined);
  }

  /** Tells the client that the stream ended: it listens again and gets the current states. */
  #failed(error: unknown): void {
    if (this.#writer.desiredSize === null) this.#stop(); // the client is gone
    if (this.#over) return;
    this.#setup.errorOf(error); // which reports what is not for the client
    this.end();
  }

  #stop(): void {
    if (this.#over) return;
    this.#over = true;
    const { listening, signal, onEnd } = this.#setup;
    listening.close();
    this.#backlog.end();
    clearInterval(this.#keepAlive);
    signal.removeEventListener("abort", this.#abandon);
    this.#reader.cancel().catch(() => undefined);
    onEnd();
  }
}

function asksForNothing(acknowledgement: JsonObject): boolean {
  const { notifications } = acknowledgement;
  return !isJsonObject(notifications) || Object.keys(notifications).length === 0;
}
