/**
 * Addresses that end one wait of one task each. Their token names the wait and is signed by a secret of the store, so that it says all, and
 * nobody can make one for another wait. A wait ends once, so a token is good once; it is good for as long as its wait is open.
 */

import { createHmac, timingSafeEqual } from "node:crypto";
import { HoldfastError } from "../task/fault.ts";
import type { Secret } from "../task/secret.ts";

/**
 * The event of an address by which a person approves something: it shows a page with two buttons. The wait stands for how long the address is good, and
 * nothing ends it but its time: the buttons answer the question. Its key ends with the host that the address was sent to.
 */
export const approvalEvent = "holdfast/approval";

/** The key of the question that such an address answers. */
export const approvalQuestion = "approval";

/** The wait that an address ends. */
export interface AddressedWait {
  readonly taskId: string;
  /** Encoded. */
  readonly key: string;
  /** Of the event. */
  readonly name: string;
}

/** Makes the addresses of a process. */
export class EventUrls {
  readonly #base: string | undefined;
  #secret: Secret | undefined;

  /** `base`: where the endpoint for events is reached; without it there are no addresses. Without `secret`, it is to be loaded. */
  constructor(base: string | undefined, secret?: Secret) {
    this.#base = base;
    this.#secret = secret;
  }

  /** At the start, so that handlers get addresses at once. */
  async load(secret: () => Promise<Secret>): Promise<void> {
    if (this.#base !== undefined) this.#secret = await secret();
  }

  /** Throws `configuration` if the server has no address for events. */
  urlOf({ taskId, key, name }: AddressedWait): string {
    if (this.#base === undefined || this.#secret === undefined) {
      const how =
        'Set eventsUrl, such as "https://example.com/events", and serve createEventHandler(tasks) there.';
      throw new HoldfastError("configuration", `This server has no addresses for events. ${how}`);
    }
    const content = Buffer.from(JSON.stringify([taskId, key, name])).toString("base64url");
    return `${this.#base.replace(/\/$/, "")}/${content}.${signature(this.#secret.current, content).toString("base64url")}`;
  }
}

/** The wait that a token names; undefined for a token that this store's servers have not made. */
export function addressedWait({ accepted }: Secret, token: string): AddressedWait | undefined {
  const [content = "", signed = ""] = token.split(".");
  const given = Buffer.from(signed, "base64url");
  const isOurs = accepted.some((key) => {
    const expected = signature(key, content);
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
  if (!isOurs) return undefined;
  const [taskId, key, name] = JSON.parse(Buffer.from(content, "base64url").toString()) as [
    string,
    string,
    string,
  ];
  return { taskId, key, name };
}

function signature(key: Uint8Array, content: string): Buffer {
  return createHmac("sha256", key).update(`event ${content}`).digest();
}
