const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];
const [openList, openObject, closeList, closeObject] = [0x5b, 0x7b, 0x5d, 0x7d];
const space = 0x20;

/** Of one object: it takes far longer to look at one with many names than at a list that is as long. */
function mostMembers(max: number): number {
  return Math.max(1_000, Math.floor(max / 10));
}

/**
 * Counts the values in JSON while it comes, without parsing it: objects, lists and what is in them, but not the names of members.
 * What is no JSON has some count too. Character codes and bytes of UTF-8 are the same to it.
 */
export class NodeCount {
  readonly #max: number;
  readonly #maxMembers: number;
  #values = 1;
  /** Of the object that is open; a list has none, whatever is in it. */
  #members = -Infinity;
  /** The same for all that is around it. */
  readonly #around: number[] = [];
  #manyMembers = false;
  #inString = false;
  #escaped = false;
  /** An object or list has begun, and nothing of it has come yet. */
  #begun = false;

  constructor(max = Infinity) {
    this.#max = max;
    this.#maxMembers = mostMembers(max);
  }

  get values(): number {
    return this.#values;
  }

  get tooMany(): boolean {
    return this.#manyMembers || this.#values > this.#max;
  }

  /** What is too many. */
  get fault(): string {
    return this.#manyMembers
      ? `The message has an object with more than ${this.#maxMembers} members.`
      : `The message has more than ${this.#max} values.`;
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
    else if (code === comma) this.#next();
    else if (code === openList || code === openObject) this.#open(code);
    else if (code === closeList || code === closeObject) this.#members = this.#around.pop() ?? -Infinity;
  }

  #next(): void {
    this.#values += 1;
    this.#members += 1;
    if (this.#members > this.#maxMembers) this.#manyMembers = true;
  }

  #open(code: number): void {
    this.#begun = true;
    this.#around.push(this.#members);
    this.#members = code === openObject ? 1 : -Infinity;
  }
}

/** What is wrong with `text` if it has too many values for a limit of `max`. */
export function nodeFault(text: string, max: number): string | undefined {
  // A value has a character and a comma, or an object or list around it; a member five, with its quotes and colon.
  if (text.length < Math.min(2 * max, 5 * mostMembers(max))) return undefined;
  const count = new NodeCount(max);
  for (let place = 0; place < text.length; place++) {
    count.take(text.charCodeAt(place));
    if (count.tooMany) return count.fault;
  }
  return undefined;
}
