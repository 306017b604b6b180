import { HoldfastError } from "../../task/fault.ts";
import type { StoredTasks } from "../export-journal.ts";
import { DecryptionError, isSealed } from "../../task/stored-text.ts";
import { Cipher } from "./cipher.ts";
import type { KeyRing } from "./encryption-keys.ts";
import type { Form, Texts } from "./form.ts";
import { journalEntry, journalPage, record, request, snapshot } from "./task-forms.ts";
import { opening } from "./texts.ts";

/** The stored data of a task, decrypted. Throws `task_unreadable` if a text that it needs cannot be decrypted. */
export function opened<T>(id: string, form: Form<T>, value: T, texts: Texts): T {
  try {
    return form(value, texts);
  } catch (error) {
    if (!(error instanceof DecryptionError)) throw error;
    throw new HoldfastError("task_unreadable", `Task ${id} cannot be read: ${error.message}.`, {
      cause: error,
    });
  }
}

/** Reads the tasks of a store that may be encrypted, with its keys if they are known. */
export function openedTasks(inner: StoredTasks, keys: KeyRing | undefined): StoredTasks {
  return openedReads(inner, opening(keys === undefined ? withoutKeys : new Cipher(keys)));
}

const withoutKeys = {
  open(text: string): string {
    if (isSealed(text))
      throw new DecryptionError("it is encrypted. Set HOLDFAST_ENCRYPTION_KEYS to the keys of the store");
    return text;
  },
};

/** Reads the tasks of an encrypted store. */
export function openedReads(inner: StoredTasks, texts: Texts): StoredTasks {
  const orNone = <T>(id: string, form: Form<T>, value: T | undefined): T | undefined =>
    value === undefined ? undefined : opened(id, form, value, texts);
  return {
    get: async (id) => orNone(id, record, await inner.get(id)),
    async snapshot(id, isVisible) {
      const found = await (isVisible === undefined
        ? inner.snapshot(id)
        : inner.snapshot(id, (task) => isVisible(record(task, texts))));
      return orNone(id, snapshot, found);
    },
    request: async (id) => orNone(id, request, await inner.request(id)),
    journal: async (id, from, limit) => opened(id, journalPage, await inner.journal(id, from, limit), texts),
    journalEntry: async (id, key) => orNone(id, journalEntry, await inner.journalEntry(id, key)),
    unfinished: async (after, limit) =>
      (await inner.unfinished(after, limit)).map((task) => record(task, texts)),
  };
}
