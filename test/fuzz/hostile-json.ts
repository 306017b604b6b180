import * as fc from "fast-check";

// JSON as a hostile caller writes it: texts and not values, since a value has no key twice and no number out of range.

/** What all objects inherit, or a library may look for. */
const odd = ["__proto__", "constructor", "prototype", "toString", "toJSON", "then"];

/** What the protocol looks for. */
const known = [
  ..."jsonrpc id method params result error code message data name arguments task taskId ttl cursor".split(
    " ",
  ),
  ..."inputResponses requestState notifications taskIds _meta extensions elicitation action content".split(
    " ",
  ),
  ..."status createdAt resultType inputRequests progressToken".split(" "),
  "io.modelcontextprotocol/tasks",
  "io.modelcontextprotocol/related-task",
  "io.modelcontextprotocol/protocolVersion",
  "io.modelcontextprotocol/clientCapabilities",
  "holdfast/idempotencyKey",
];

const key = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...odd) },
  { weight: 5, arbitrary: fc.constantFrom(...known) },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 8 }) },
);

const number = fc.oneof(
  fc.constantFrom("0", "-0", "1e999", "-1e999", "1e-999", "9007199254740993", "1.5", "-1", "2147483648"),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
);

const string = fc.oneof(
  fc.constantFrom(
    "",
    "__proto__",
    "constructor",
    "tools/call",
    "tasks/get",
    "accept",
    "2026-07-28",
    "\u0000",
  ),
  fc.constantFrom("\ud800", "\ufffe", '\ufffe"', "x".repeat(5_000)),
  fc.string({ unit: "binary", maxLength: 20 }),
);

/** Written as `JSON.stringify` would, but for keys that come twice. */
const object = (members: readonly (readonly [key: string, text: string])[]): string =>
  `{${members.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(",")}}`;

const { json } = fc.letrec<{ json: string; leaf: string; list: string; object: string }>((tie) => ({
  json: fc.oneof({ maxDepth: 5, depthSize: "small" }, tie("leaf"), tie("object"), tie("object"), tie("list")),
  leaf: fc.oneof(
    fc.constantFrom("null", "true", "false"),
    number,
    string.map((value) => JSON.stringify(value)),
  ),
  list: fc.array(tie("json"), { maxLength: 4 }).map((items) => `[${items.join(",")}]`),
  object: fc.array(fc.tuple(key, tie("json")), { maxLength: 5 }).map(object),
}));

/** The text of any JSON. */
export const hostileText = json;

/** Any JSON, parsed: keys as `__proto__` are members like all others. */
export const hostileJson = json.map((text): unknown => JSON.parse(text));

/** Any JSON object, parsed. */
export const hostileObject = fc
  .array(fc.tuple(key, json), { maxLength: 8 })
  .map((members) => JSON.parse(object(members)) as Readonly<Record<string, unknown>>);

/**
 * The texts of `valid` with a few places changed: another value, one that is left out, one that comes twice, or what
 * stood elsewhere. Most of them get past the first check and into the next.
 */
export function mutated(valid: fc.Arbitrary<unknown>): fc.Arbitrary<string> {
  const change = fc.record({ place: fc.nat(60), kind: fc.nat(4), text: json, name: key });
  return fc.tuple(valid, fc.array(change, { maxLength: 3 })).map(([message, changes]) => {
    let place = 0;
    const write = (value: unknown): string => {
      const here = changes.find((each) => each.place === place);
      place += 1;
      if (here?.kind === 0) return here.text;
      if (Array.isArray(value)) return `[${value.map(write).join(",")}]`;
      if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
      const members = Object.entries(value).map(([name, member]) => [name, write(member)] as const);
      if (here?.kind === 1) members.splice(here.place % (members.length + 1), 1);
      if (here?.kind === 2) members.push([here.name, here.text]);
      if (here?.kind === 3) members.push(...members);
      if (here?.kind === 4) members.push(["__proto__", object(members)]);
      return object(members);
    };
    return write(message);
  });
}

const prototypes = [Object.prototype, Array.prototype, Function.prototype, String.prototype, Map.prototype];
const before = prototypes.map((prototype) => Reflect.ownKeys(prototype).length);

/** Throws where anything was added to, or taken from, what all values inherit from. */
export function assertNothingPolluted(): void {
  const now = prototypes.map((prototype) => Reflect.ownKeys(prototype).length);
  const seen: string[] = [];
  for (const name in {}) seen.push(name);
  if (seen.length > 0 || now.join() !== before.join())
    throw new Error(`A prototype was changed: ${seen.join()}`);
}
