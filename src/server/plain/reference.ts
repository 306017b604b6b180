/** Digits and capitals that are not taken for one another, however they are read out or typed. */
const alphabet = "23456789ABCDEFGHJKMNPQRSTVWXYZ";
const length = 8;
const group = 4;
const form = new RegExp(`^[${alphabet}]{${length}}$`);

/**
 * A name for a task that people and models can repeat, such as `K7QM-2XWD`: 39 bits, so unique among one owner's tasks
 * and no secret. It finds a task for its owner only.
 */
export function newReference(randomBytes: (size: number) => Uint8Array): string {
  const fair = 256 - (256 % alphabet.length);
  let letters = "";
  while (letters.length < length) {
    for (const byte of randomBytes(length)) {
      // The rest would come up more often than others.
      if (byte < fair && letters.length < length) letters += alphabet[byte % alphabet.length];
    }
  }
  return grouped(letters);
}

/** The reference that somebody typed, however it was spaced and whatever its case; undefined for what is none. */
export function readReference(typed: string): string | undefined {
  const letters = typed.replaceAll(/[\s-]/g, "").toUpperCase();
  return form.test(letters) ? grouped(letters) : undefined;
}

function grouped(letters: string): string {
  return `${letters.slice(0, group)}-${letters.slice(group)}`;
}
