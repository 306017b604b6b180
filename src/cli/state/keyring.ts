import type { AsyncEntry } from "@napi-rs/keyring";

/** The system's storage for our secrets of this user, by name. Each method rejects if there is none. */
export interface Keyring {
  read(name: string): Promise<string | null>;
  write(name: string, secret: string): Promise<void>;
}

const service = "holdfast";

/** A locked keyring first asks the user for a password. */
const patienceMs = 60_000;

/**
 * The operating system's keyring: the Keychain, the Credential Manager, or the Secret Service of a Linux desktop. Its library is
 * optional, and loaded on demand.
 */
export const systemKeyring: Keyring = {
  async read(name) {
    return (await entry(name)).getPassword(AbortSignal.timeout(patienceMs));
  },
  async write(name, secret) {
    await (await entry(name)).setPassword(secret, AbortSignal.timeout(patienceMs));
  },
};

async function entry(name: string): Promise<AsyncEntry> {
  const library = await import("@napi-rs/keyring");
  // Otherwise, without a desktop, Linux would use the kernel's keyring, which is lost on restart.
  return new library.AsyncEntry(service, name, { linux: { store: "secret-service" } });
}
