import type { Services } from "./services.ts";

const size = 32;

/** Random keys in the store, the same for all current and later processes on it. */
export class Secrets {
  readonly #services: Pick<Services, "store" | "clock">;
  readonly #kept = new Map<string, Promise<Uint8Array>>();

  constructor(services: Pick<Services, "store" | "clock">) {
    this.#services = services;
  }

  /** The 32 bytes under `name`, created at first use. Rejects with the store's errors. */
  get(name: string): Promise<Uint8Array> {
    const kept = this.#kept.get(name) ?? this.#keep(name);
    this.#kept.set(name, kept);
    return kept;
  }

  async #keep(name: string): Promise<Uint8Array> {
    const { store, clock } = this.#services;
    const value = Buffer.from(clock.randomBytes(size)).toString("base64url");
    try {
      const kept = await store.write({ type: "keep_secret", now: clock.now(), name, value });
      return Buffer.from(kept.value ?? value, "base64url");
    } catch (error) {
      this.#kept.delete(name); // the next caller tries again
      throw error;
    }
  }
}
