const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];
const [openList, openObject, closeList, closeObject] = [0x5b, 0x7b, 0x5d, 0x7d];
const space = 0x20;

/**
 * Counts the values in JSON while it comes, without parsing it: objects, lists and what is in them, but not the names of members.
 * What is no JSON has some count too. Character codes and bytes of UTF-8 are the same to it.
 */
export class NodeCount {
  #values = 1;
  #inString = false;
  #escaped = false;
  /** An object or list has begun, and nothing of it has come yet. */
  #begun = false;

  get values(): number {
    return this.#values;
  }

  take(code: number): void {
    if (this.#inString) {
      if (this.#escaped) this.#escaped = false;
      else if (code === backslash) this.#escaped = true;
      else if (code === quote) this.#inString = false;
      return;
    }
    if (code <= space) return;
    if (this.#begun) {
      this.#begun = false;
      if (code !== closeList && code !== closeObject) this.#values += 1;
    }
    if (code === quote) this.#inString = true;
    else if (code === comma) this.#values += 1;
    else if (code === openList || code === openObject) this.#begun = true;
  }
}

/** Whether there are more than `max` values in `text`. */
export function hasMoreNodes(text: string, max: number): boolean {
  if (text.length < 2 * max) return false; // each has a character and a comma, or an object or list around it
  const count = new NodeCount();
  for (let place = 0; place < text.length; place++) {
    count.take(text.charCodeAt(place));
    if (count.values > max) return true;
  }
  return false;
}

export function tooManyNodes(max: number): string {
  return `The message has more than ${max} values.`;
}
