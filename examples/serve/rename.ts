import { readSync, writeSync } from "node:fs";

interface Answer {
  readonly ask: string;
  readonly action: "accept" | "decline" | "cancel";
  readonly content?: Readonly<Record<string, unknown>>;
}

/** Asks the user, and waits. Returns what they filled in; undefined if they declined. */
function ask(key: string, message: string, schema: object): Answer["content"] {
  writeSync(3, `${JSON.stringify({ ask: key, message, schema })}\n`);
  for (;;) {
    const answer = JSON.parse(readLine()) as Answer;
    // An answer to an earlier question may come twice.
    if (answer.ask === key) return answer.action === "accept" ? answer.content : undefined;
  }
}

/** A stream would keep the program from ending: the pipe of answers is never at its end. */
function readLine(): string {
  const line: number[] = [];
  const byte = Buffer.alloc(1);
  while (readSync(4, byte) === 1 && byte[0] !== 10) line.push(byte.readUInt8());
  return Buffer.from(line).toString();
}

const form = { properties: { name: { type: "string", title: "The new name" } }, required: ["name"] };
const chosen = ask("name", `What is ${process.argv[2]} to be called?`, form);
console.log(chosen === undefined ? "It keeps its name." : `It is called ${String(chosen["name"])} now.`);
