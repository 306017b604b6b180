import type { AsyncEntry } from "@napi-rs/keyring";

/** Where this user's system keeps a secret of ours, under a name. Each method rejects where there is no such place. */
export interface Keyring {
  read(name: string): Promise<string | null>;
  write(name: string, secret: string): Promise<void>;
}

const service = "holdfast";

/** A keyring that is locked asks its user for a password first. */
const patienceMs = 60_000;

/**
 * The keyring of the operating system: the Keychain, the Credential Manager, or the Secret Service of a Linux desktop. Its
 * library is optional, and loaded only where it is needed.
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
  // Without it, Linux would use the kernel's keyring where there is no desktop, which forgets at the next start.
  return new library.AsyncEntry(service, name, { linux: { store: "secret-service" } });
}
