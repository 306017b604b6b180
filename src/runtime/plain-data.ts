/** Texts and plain data that say what any value is. */

import { cutBytes } from "../task/stored-text.ts";
import { describeThrown, errorParts, isError } from "./tool/tool-errors.ts";

/** More of a value than any list of lines keeps. */
const maxTextBytes = 1024 * 1024;

/** A text for any value: of an error its name and message, of data its JSON. Never throws. */
export function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (isError(value)) {
    const { name, message } = errorParts(value);
    return message === "" ? name : `${name}: ${message}`;
  }
  const data = plainData(value, maxTextBytes);
  return typeof data === "string" ? data : JSON.stringify(data);
}

/** Plain data that says what a value is, in about so many bytes. Never throws. */
export function plainData(value: unknown, maxBytes: number): unknown {
  return new Description(maxBytes).of(value);
}

/** Deeper values are not described. */
const maxDepth = 64;

class Description {
  readonly #above = new Set<object>();
  /** Bytes left, roughly: what is described after it is used up is counted and left out. */
  #room: number;

  constructor(maxBytes: number) {
    this.#room = maxBytes;
  }

  of(value: unknown): unknown {
    try {
      return this.#any(value);
    } catch (error) {
      return this.#text(`[cannot be read: ${describeThrown(error)}]`); // its getters are the author's
    }
  }

  #any(value: unknown): unknown {
    switch (typeof value) {
      case "string":
        return this.#text(value);
      case "boolean":
        return value;
      case "number":
        this.#room -= 8;
        return Number.isFinite(value) ? value : String(value);
      case "bigint":
        return this.#text(`${value}n`);
      case "undefined":
        return "undefined";
      case "symbol":
        return this.#text(String(value));
      case "function":
        return this.#text(`[function ${value.name}`.trimEnd() + "]");
      case "object":
        return value === null ? null : this.#object(value);
    }
  }

  #object(value: object): unknown {
    if (this.#above.has(value)) return "[circular]";
    if (this.#above.size >= maxDepth) return "[nested too deeply]";
    this.#above.add(value);
    try {
      return this.#members(value);
    } finally {
      this.#above.delete(value);
    }
  }

  #members(value: object): unknown {
    if (value instanceof Error) return this.#record(Object.entries(errorParts(value)));
    if (value instanceof Promise) {
      value.catch(() => undefined); // nobody else may wait for a promise that was logged by mistake
      return "[promise]";
    }
    if (value instanceof Map)
      return this.#list([...value].map(([key, member]: [unknown, unknown]) => [key, member]));
    if (value instanceof Set) return this.#list([...value]);
    if (value instanceof RegExp) return this.#text(String(value));
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `[${value.byteLength} bytes]`;
    if ("toJSON" in value && typeof value.toJSON === "function") {
      const json = (value as { toJSON: (key: string) => unknown }).toJSON("");
      return json === value ? "[circular]" : this.of(json);
    }
    return Array.isArray(value) ? this.#list(value) : this.#record(Object.entries(value));
  }

  #list(members: readonly unknown[]): unknown[] {
    const list: unknown[] = [];
    for (const member of members) {
      if (this.#room <= 0) {
        list.push(`… [${members.length - list.length} more]`);
        break;
      }
      this.#room -= 1;
      list.push(this.of(member));
    }
    return list;
  }

  #record(entries: readonly (readonly [string, unknown])[]): Record<string, unknown> {
    const record: [string, unknown][] = [];
    for (const [key, member] of entries) {
      if (member === undefined) continue;
      if (this.#room <= 0) {
        record.push(["…", `[${entries.length - record.length} more]`]);
        break;
      }
      record.push([this.#text(key), this.of(member)]);
    }
    return Object.fromEntries(record);
  }

  #text(text: string): string {
    const cut = cutBytes(text, Math.max(this.#room, 32));
    this.#room -= cut.length + 3;
    return cut;
  }
}
