import type { JSONRPCNotification } from "@modelcontextprotocol/client";
import type { JsonObject } from "../../generation/message.ts";
import { declaresTaskLines, resourceUpdated } from "../../generation/extensions.ts";
import type { ClientClock } from "../clock.ts";
import { retryDelay } from "../task/poll-limits.ts";
import type { LineListener, TaskProtocol } from "../task-protocol.ts";
import type { RawRequester } from "../transport/raw-requester.ts";
import { requestWithTimeout } from "../transport/request-with-timeout.ts";

interface Services {
  readonly requester: RawRequester;
  readonly clock: ClientClock;
}

/** How often to subscribe again, because the session may have been replaced (ms). */
const renewMs = 30_000;

/** How logs and outputs are followed in the session of a server with these capabilities; undefined where it does not push them. */
export function followerOf(services: Services, server: JsonObject): TaskProtocol["followLines"] {
  if (!declaresTaskLines(server, "experimental")) return undefined;
  const followed = new FollowedLines(services);
  return async (...following) => followed.follow(...following);
}

/** Follows logs and outputs in a session, by subscriptions to their resources. */
class FollowedLines {
  readonly #services: Services;
  /** The number of followers by URI. */
  readonly #followers = new Map<string, number>();

  constructor(services: Services) {
    this.#services = services;
  }

  /** As `TaskProtocol.followLines`. */
  async follow(uri: string, listener: LineListener, signal: AbortSignal): Promise<void> {
    const { requester } = this.#services;
    const remove = requester.handlers.onNotification(({ method, params }: JSONRPCNotification) => {
      if (method === resourceUpdated && params?.["uri"] === uri) listener.onGrown();
      return false; // the host's handlers get it too
    });
    this.#followers.set(uri, (this.#followers.get(uri) ?? 0) + 1);
    try {
      await this.#keepSubscribed(uri, listener, signal);
    } finally {
      remove();
      listener.onLive(false);
      this.#leave(uri);
    }
  }

  async #keepSubscribed(uri: string, listener: LineListener, signal: AbortSignal): Promise<void> {
    const { clock } = this.#services;
    for (let failures = 0; ;) {
      const reply = await requestWithTimeout(this.#services, "resources/subscribe", { uri }, signal);
      if (reply.kind === "error" || reply.kind === "bad") return;
      const isSubscribed = reply.kind === "value";
      listener.onLive(isSubscribed);
      failures = isSubscribed ? 0 : failures + 1;
      const pauseMs = isSubscribed ? renewMs : retryDelay(failures, clock.random(), reply.retryAfterMs);
      await clock.sleep(pauseMs, signal);
    }
  }

  #leave(uri: string): void {
    const left = (this.#followers.get(uri) ?? 1) - 1;
    if (left > 0) {
      this.#followers.set(uri, left);
      return;
    }
    this.#followers.delete(uri);
    const { closed } = this.#services.requester;
    // If this request is lost, the server ends the subscription with the task.
    if (closed.aborted) return;
    requestWithTimeout(this.#services, "resources/unsubscribe", { uri }, closed).catch(() => undefined);
  }
}
