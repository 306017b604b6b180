import type { AsyncEntry } from "@napi-rs/keyring";

/** The system's storage for our secrets of this user, by name. Each method rejects with NoKeyring if there is none, and with another error if it fails. */
export interface Keyring {
  read(name: string): Promise<string | null>;
  write(name: string, secret: string): Promise<void>;
}

/** This system has no keyring, or none that this program can use; the message says which. */
export class NoKeyring extends Error {
  override readonly name = "NoKeyring";
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
    return withEntry(name, async (entry) => entry.getPassword(AbortSignal.timeout(patienceMs)));
  },
  async write(name, secret) {
    return withEntry(name, async (entry) => entry.setPassword(secret, AbortSignal.timeout(patienceMs)));
  },
};

async function withEntry<T>(name: string, use: (entry: AsyncEntry) => Promise<T>): Promise<T> {
  const library = await import("@napi-rs/keyring").catch((cause: unknown) => {
    throw new NoKeyring("the package @napi-rs/keyring is not installed for this system", { cause });
  });
  try {
    // Otherwise, without a desktop, Linux would use the kernel's keyring, which is lost on restart.
    const entry = new library.AsyncEntry(service, name, { linux: { store: "secret-service" } });
    return await use(entry);
  } catch (error) {
    if (process.platform === "linux" && isWithoutDesktop(error))
      throw new NoKeyring("this system has no Secret Service, as a desktop would", { cause: error });
    throw error;
  }
}

/** There is no message bus, or nothing on it keeps secrets. The library has one code for everything, so its text has to say it. */
function isWithoutDesktop(error: unknown): boolean {
  const text = error instanceof Error ? error.message : "";
  return /DBUS_SESSION_BUS_ADDRESS|No such file or directory|not provided by any \.service files/.test(text);
}
