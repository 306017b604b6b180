import { cutError } from "../../task/attempts.ts";
import { HoldfastError } from "../../task/fault.ts";
import { DecryptionError, encryptedText, isSealed } from "../../task/stored-text.ts";
import type { CallerDetails } from "../../task/record.ts";
import type { Cipher } from "./cipher.ts";
import type { Texts } from "./form.ts";

/** Replaces a text of a record that cannot be decrypted. */
export const undecryptedWords = "(encrypted with a missing key)";

/** Encrypts all texts. */
export function sealing({ seal }: Pick<Cipher, "seal">): Texts {
  const sealed = (text: string): string => seal(text);
  return {
    body: sealed,
    words: sealed,
    attemptError: sealed,
    failure: sealed,
    lineBody: sealed,
    caller: (caller) => ({ claims: { sealed: seal(JSON.stringify(caller)) } }),
  };
}

/** Decrypts all texts. For texts that cannot be decrypted, `open` throws `DecryptionError`, and so do bodies. */
export function opening({ open }: Pick<Cipher, "open">): Texts {
  const words = (text: string): string => {
    try {
      return open(text);
    } catch (error) {
      if (error instanceof DecryptionError) return undecryptedWords;
      throw error;
    }
  };
  return {
    body: open,
    words,
    // The store could not cut it while it was encrypted.
    attemptError: (text) => cutError(words(text)),
    failure: (text) => openedFailure(text, open),
    lineBody: open,
    caller: (caller) => {
      const text = sealedCaller(caller);
      return text === undefined ? caller : (JSON.parse(open(text)) as CallerDetails);
    },
  };
}

/**
 * For operators without keys of an encrypted store: encrypted texts are copied between tasks unchanged, and the only new text allowed is
 * our own status text.
 */
export const sealingWithoutKeys: Texts = {
  body: onlySealed,
  words: (text) => text,
  attemptError: (text) => text,
  failure: onlySealed,
  lineBody: onlySealed,
  caller: (caller) => caller,
};

/** The same for reads: bodies stay as they are stored, so that a task can be run again with them. */
export const openingWithoutKeys: Texts = {
  body: (text) => text,
  words: placeholder,
  attemptError: placeholder,
  failure: (text) => (isSealed(text) ? text : openedFailure(text, () => JSON.stringify(encryptedText))),
  lineBody: (text, list) =>
    !isSealed(text)
      ? text
      : JSON.stringify(
          list === "log" ? { level: "info", text: encryptedText } : { type: "text", text: encryptedText },
        ),
  caller: (caller) => caller,
};

/** For a store that is not encrypted. */
export const inClear: Texts = {
  body: (text) => text,
  words: (text) => text,
  attemptError: (text) => text,
  failure: (text) => text,
  lineBody: (text) => text,
  caller: (caller) => caller,
};

function onlySealed(text: string): string {
  if (isSealed(text)) return text;
  throw new HoldfastError(
    "configuration",
    "This store is encrypted. To store new data in it, set HOLDFAST_ENCRYPTION_KEYS to its keys.",
  );
}

function placeholder(text: string): string {
  return isSealed(text) ? encryptedText : text;
}

/** A caller's details, if they are encrypted. */
function sealedCaller({ claims }: CallerDetails): string | undefined {
  const sealed = claims?.["sealed"];
  return typeof sealed === "string" && isSealed(sealed) ? sealed : undefined;
}

/** How a store puts the body of a failed task into the journal of its caller: unchanged, so it is not JSON while it is encrypted. */
const failureForm = /^(\{"reason":"\w+","\w+":)(enc1:[\w:-]+)\}$/;

function openedFailure(text: string, open: (text: string) => string): string {
  const [, begin, sealed] = failureForm.exec(text) ?? [];
  return begin === undefined || sealed === undefined ? open(text) : `${begin}${open(sealed)}}`;
}
