import type { TaskStore } from "../store/store.ts";
import { pruned, secretAt, type Secret } from "../task/secret.ts";
import type { Clock } from "./clock.ts";
import type { Services } from "./services.ts";

const size = 32;

/**
 * The names of the secrets of a store, apart from those of its encryption: the key of `requestState`, that of the ids of a session's events, that of
 * the hashes by which equal calls find one another, and that of the addresses of events.
 */
export const secretNames = ["request-state", "session-events", "call-keys", "event-urls"] as const;

export type SecretName = (typeof secretNames)[number];

export interface SecretServices extends Pick<Services, "store"> {
  readonly clock: Pick<Clock, "now" | "randomBytes">;
}

/** Random keys in the store, the same for all current and later processes on it. */
export class Secrets {
  readonly #services: SecretServices;
  readonly #kept = new Map<SecretName, Promise<LiveSecret>>();
  /** Whether there are versions that could not be read yet. */
  #isBehind = false;

  constructor(services: SecretServices) {
    this.#services = services;
  }

  /** The secret under `name`, created at first use, with the versions that count whenever it is used. Rejects with the store's errors. */
  get(name: SecretName): Promise<Secret> {
    const kept = this.#kept.get(name) ?? this.#keep(name);
    this.#kept.set(name, kept);
    return kept;
  }

  /** Call it at each renewal: learns of new versions, and deletes those that are over. */
  async refresh(areChanged: boolean): Promise<void> {
    const { store, clock } = this.#services;
    this.#isBehind ||= areChanged;
    const isBehind = this.#isBehind;
    for (const [name, kept] of this.#kept) {
      const secret = await kept;
      if (!isBehind && pruned(secret.text, clock.now()) === secret.text) continue;
      secret.text = (await readSecret(store, name, clock.now())) ?? secret.text;
    }
    this.#isBehind = false;
  }

  async #keep(name: SecretName): Promise<LiveSecret> {
    const { store, clock } = this.#services;
    const value = Buffer.from(clock.randomBytes(size)).toString("base64url");
    try {
      const kept = await store.write<"keep_secret">({ type: "keep_secret", now: clock.now(), name, value });
      return new LiveSecret(kept.value ?? value, clock);
    } catch (error) {
      this.#kept.delete(name); // the next caller tries again
      throw error;
    }
  }
}

class LiveSecret implements Secret {
  text: string;
  readonly #clock: Pick<Clock, "now">;

  constructor(text: string, clock: Pick<Clock, "now">) {
    this.text = text;
    this.#clock = clock;
  }

  get current(): Uint8Array {
    return secretAt(this.text, this.#clock.now()).current;
  }

  get accepted(): readonly Uint8Array[] {
    return secretAt(this.text, this.#clock.now()).accepted;
  }
}

/** The stored text of a secret, from which versions that are over are then deleted; null if there is none. */
export async function readSecret(
  store: Pick<TaskStore, "write">,
  name: SecretName,
  now: number,
): Promise<string | null> {
  const { value } = await store.write<"keep_secret">({ type: "keep_secret", now, name, value: null });
  const left = value === null ? null : pruned(value, now);
  if (left !== null && value !== null && left !== value)
    await store.write({ type: "replace_secret", now, name, before: value, value: left });
  return left;
}
