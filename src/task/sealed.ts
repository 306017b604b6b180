/** The form of an encrypted text: `enc1:`, the id of its key, and what it was encrypted to. No JSON begins so. */
const form = /^enc1:[\w-]{1,32}:[\w-]{38,}$/;

/** What operators without keys see instead of an encrypted text. */
export const encryptedText = "(encrypted)";

/** Whether a text is an encrypted one: only an encrypted store (`encryptedStore`) can read it. */
export function isSealed(text: string): boolean {
  return form.test(text);
}
