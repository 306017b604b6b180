import type { Reply } from "../client/response-parser.ts";

/** What the bare server sends: the headers and the body of a real answer. */
export interface BareAnswer {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Headers that node:http writes itself, and the framing, which is cheapest for one write of a known length. */
const ownHeaders: readonly string[] = [
  "date",
  "connection",
  "keep-alive",
  "transfer-encoding",
  "content-length",
];

export function bareAnswer({ head, body }: Reply): BareAnswer {
  const lines = head.split("\r\n").slice(1);
  const all = lines.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]);
  const headers = all.filter(([name = ""]) => !ownHeaders.includes(name));
  return { headers: Object.fromEntries(headers) as Record<string, string>, body: body.toString() };
}
