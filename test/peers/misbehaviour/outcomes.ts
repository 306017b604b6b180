import type { Misbehaviour } from "./misbehaviours.ts";

/** What a client makes of a fault, the best first. */
export const outcomes = [
  "shows what is good",
  "names the member",
  "names it in a dump",
  "says something else",
  "says nothing",
  "prints a stack or a dump",
  "hangs",
] as const;
export type Outcome = (typeof outcomes)[number];

/** What a run of `npm run record:misbehaviours` showed. */
export interface MisbehaviourFacts {
  /** Those of others, by the names that `rows` have for them. */
  readonly clients: readonly { readonly name: string; readonly package: string; readonly version: string }[];
  readonly rows: readonly {
    readonly fault: string;
    readonly over: "stdio" | "HTTP";
    /** By the name of the client. `said` is the beginning of what it printed in place of what is good. */
    readonly saw: Readonly<Record<string, { readonly outcome: Outcome; readonly said?: string }>>;
  }[];
}

/** How a run of a client ended. */
export interface Ended {
  /** Null: its time was over. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** In a fault's answer: what is good in it, and how it can be named. */
interface Expected {
  /** Null: nothing. */
  readonly good?: RegExp | null;
  readonly member: RegExp;
}

const succeeds = /^/;
const ended = /exit|clos|hang up|ECONNRESET|disconnect|\bended\b/i;

/** The members are matched anywhere in the text, so that no client is judged by its style. */
const expectations: Readonly<Record<string, Expected>> = {
  "initialize: no protocolVersion": { member: /protocol ?version/i },
  "initialize: a number as protocolVersion": { member: /protocol ?version/i },
  "initialize: a version that does not exist": { member: /protocol ?version|1999-01-01/i },
  "initialize: no capabilities": { member: /capabilities/ },
  "initialize: a list as capabilities": { member: /capabilities/ },
  "initialize: no serverInfo": { member: /serverInfo/ },
  "initialize: null as result": { member: /\bresult\b/ },
  "initialize: a list as result": { member: /\bresult\b/ },
  "initialize: an error": { member: /Not today/ },
  "initialize: an error that is a text": { member: /Not today|error is|"keys": ?\[\s*"error"/ },
  "initialize: result and error": { member: /result and (?:an )?error|"keys": ?\[\s*"(?:error|result)"/ },
  "initialize: the end of the connection": { good: null, member: ended },
  "initialize: a second answer": { member: /second answer|\bid\b/ },
  "tools/list: no tools": { good: null, member: /\btools\b(?!\/)/ },
  "tools/list: null as tools": { good: null, member: /\btools\b(?!\/)/ },
  "tools/list: a tool without name": { member: /\bname\b/ },
  "tools/list: a tool that is a text": { member: /\btools?\b(?!\/)/ },
  "tools/list: a tool without inputSchema": { member: /inputSchema/ },
  "tools/list: a text as inputSchema": { member: /inputSchema/ },
  "tools/list: null as nextCursor": { member: /nextCursor/ },
  "tools/list: a number as nextCursor": { member: /nextCursor/ },
  "tools/list: the same nextCursor for ever": { member: /cursor/i },
  "tools/list: an error": { good: null, member: /Broken/ },
  "tools/list: a text as result": { good: null, member: /\bresult\b/ },
  "tools/call: no content": { good: succeeds, member: /\bcontent\b/ },
  "tools/call: a text as content": { member: /\bcontent\b/ },
  "tools/call: null in the content": { good: succeeds, member: /\bcontent\b/ },
  "tools/call: content of an unknown kind": { good: /hologram/, member: /\btype\b|\bcontent\b|kind/ },
  "tools/call: text without text": { good: succeeds, member: /\btext\b/ },
  "tools/call: a text as structuredContent": { member: /structuredContent/ },
  "tools/call: a text as isError": { member: /isError/ },
  "tools/call: a megabyte": { good: /x{1000}/, member: /\btext\b|too (?:large|long|big)/ },
  "tools/call: an error that is null": { good: null, member: /neither|\berror"? is|"error"|\bnull\b/i },
  "tools/call: an error whose code is a text": { good: null, member: /\bcode\b|Broken/ },
  "tools/call: an error without a message": { good: null, member: /\bmessage\b|-32000/ },
  "tools/call: no version of JSON-RPC": { member: /jsonrpc|JSON-RPC/i },
  "tools/call: the end of the connection": { good: null, member: ended },
  "tools/call: an answer to nobody first": { member: /\bid\b/ },
  "tools/call: an unknown notification first": { member: /\bmethod\b|notification/ },
  "tools/call: a request of the server without params first": { member: /\bmethod\b|\bparams\b/ },
  "tools/call: progress of nothing first": { member: /progress/ },
};

/** What good answers hold: the tool's name in a list, in text or JSON, and the text of the result. */
const usual = { "tools/list": /"name": ?"t"|^t\b/m, "tools/call": /done/, initialize: /done/ };
const stackOrDump = /^\s+at (?:async )?\S+.*[(:]|"(?:invalid_\w+|unrecognized_keys)"|ZodError/m;
const timedOut = /timed? ?out/i;
const complaint = /error|invalid|fail|problem|expected|cannot|unable|offline|missing|left out/i;

/** What that run made of that fault. */
export function outcomeOf({ code, stdout, stderr }: Ended, { name, method }: Misbehaviour): Outcome {
  const expected = expectations[name];
  if (expected === undefined) throw new Error(`No expectation for ${name}.`);
  const { good = usual[method], member } = expected;
  if (code === null) return "hangs";
  // Some print the errors of a library as a text in JSON.
  const all = `${stdout}\n${stderr}`.replaceAll("\\n", "\n").replaceAll(String.raw`\"`, '"');
  const names = member.test(all) && !timedOut.test(all);
  if (good !== null && good.test(stdout) && (code === 0 || good !== succeeds) && !stackOrDump.test(all))
    return "shows what is good";
  if (stackOrDump.test(all)) return names ? "names it in a dump" : "prints a stack or a dump";
  if (code === 0 && !complaint.test(all)) return "says nothing";
  return names ? "names the member" : "says something else";
}
