/** An encrypted text: `enc1:`, the id of its key, and the ciphertext. No JSON text begins like this. */
const form = /^enc1:[\w-]{1,32}:[\w-]{38,}$/;

/** What operators without keys see instead of an encrypted text. */
export const encryptedText = "(encrypted)";

/** Whether a text is encrypted: only an encrypted store (`encryptedStore`) can read it. */
export function isSealed(text: string): boolean {
  return form.test(text);
}
