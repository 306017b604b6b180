import type { CallToolResult } from "@modelcontextprotocol/server";
import type { Tasks } from "holdfast";
import * as z from "zod";
import type { Gates } from "../peers/gates.ts";
import { markup } from "./markup.ts";

const inputSchema = z.object({ word: z.string() });

const text = (said: string): CallToolResult => ({ content: [{ type: "text", text: said }] });

/** Where something goes, as a client's user fills it in. */
export const form = {
  type: "object" as const,
  properties: {
    environment: { type: "string" as const, title: "Environment", enum: ["staging", "production"] },
    replicas: { type: "integer" as const, title: "Replicas", minimum: 1, maximum: 9 },
    notify: { type: "boolean" as const, title: "Tell the team", default: true },
    note: { type: "string" as const, title: "Note", minLength: 3 },
  },
  required: ["environment", "replicas", "note"],
};

const study =
  "# Findings\n\n- **Sales** rose\n\n| month | sales |\n|---|---|\n| May | 7 |\n\n### Next\n\nSee [the plan](https://plan.example/).";

/** A PNG of one pixel. */
const dot =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** Why orders cannot be charged, by the first word. */
const failures: Readonly<Record<string, (order: string) => string>> = {
  gateway: (order) => `Payment gateway answered 502 for order ${order}`,
  card: (order) => `Card of order ${order} has expired`,
  stock: (order) => `Nothing is left of order "${order}"`,
};

/** Tools whose tasks have everything that the page shows. */
export function addTools(tasks: Tasks, gates: Gates): void {
  const report = tasks.tool("report", { inputSchema }, async ({ word }, task) => {
    const rows = await task.step("collect", () => {
      gates.log(`collect ${word}`);
      return [word, word.toUpperCase()];
    });
    void task.log("info", `Collected ${rows.length} rows`, { rows });
    void task.output(`First half of ${word}`);
    task.progress(1, 2, `Half of ${word} is written`);
    gates.log(`(waits) ${word}`);
    await gates.opened(word, task.signal);
    await task.step("write", () => {
      gates.log(`write ${word}`);
      return rows.length;
    });
    void task.log("warning", `Wrote ${word}`);
    void task.output(`Second half of ${word}`);
    return text(`The report of ${word} is ready.`);
  });
  tasks.tool("deploy", { inputSchema, requires: ["elicitation"] }, async ({ word }, task) => {
    const answer = await task.elicit("where", { message: `Where does ${word} go?`, requestedSchema: form });
    return text(`${answer.action} ${JSON.stringify(answer.content ?? {})}`);
  });
  tasks.tool("publish", { inputSchema, retry: { attempts: 2, backoff: { firstMs: 0 } } }, refuse);
  tasks.tool("campaign", { inputSchema }, async ({ word }, task) => {
    await task.call("first report", report, { word });
    return text(`The campaign of ${word} is over.`);
  });
  const runner = tasks.tool("runner", { inputSchema }, async ({ word }, task) => {
    for (const place of ["Rome", "Oslo", "home"]) {
      await gates.opened(`${word} to ${place}`, task.signal);
      await task.status(`${word} is in ${place}`);
    }
    await gates.opened(`${word} ends`, task.signal);
    return text(word);
  });
  tasks.tool("relay", { inputSchema }, async ({ word }, task) => task.call("leg", runner, { word }));
  tasks.tool("charge", { inputSchema }, async ({ word }, task) => {
    const [cause = "", order = ""] = word.split(" ");
    await task.step("reserve", () => gates.log(`reserve ${order}`));
    await task.step("charge", ({ idempotencyKey }) => {
      const isFixed = gates.isOpen(`fixed ${cause}`);
      gates.log(`${isFixed ? "charged" : "refused"} ${idempotencyKey} ${order}`);
      if (!isFixed) throw new Error(failures[cause]?.(order));
    });
    return text(`charged ${order}`);
  });
  tasks.tool("transfer", { inputSchema }, async ({ word }, task) => {
    await task.step("reach the bank", () => {
      gates.log(`(waits) ${word}`);
      return gates.opened(word, task.signal);
    });
    return text(word);
  });
  tasks.tool("study", { inputSchema }, async ({ word }, task) => {
    const files = [
      ["report.md", "text/markdown", `${study}\n${markup}\n![remote](https://elsewhere.example/a.png)`],
      ["figures.json", "application/json", JSON.stringify({ word, rows: [1, 2] })],
      ["dot.png", "image/png", Buffer.from(dot, "base64")],
      [
        "drawing.svg",
        "image/svg+xml",
        `<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`,
      ],
      ["page.html", "text/html", markup],
    ] as const;
    for (const [name, mimeType, data] of files) await task.artifact(name, data, { mimeType });
    void task.output(study);
    return text(JSON.stringify({ of: word }));
  });
  tasks.tool("quick", { inputSchema }, async ({ word }) => text(word));
  tasks.tool("markup", { inputSchema, requires: ["elicitation"] }, async ({ word }, task) => {
    await task.status(markup);
    void task.log("info", markup, { [markup]: markup });
    void task.output([{ type: "text", text: markup }, linked]);
    await task.step(markup, () => markup);
    if (word === "asks") {
      await task.elicit(`${markup}?`, { message: markup, requestedSchema: markupForm });
    }
    if (word === "fails") throw new Error(markup, { cause: new Error(markup) });
    return { content: [{ type: "text", text: markup }, linked] };
  });
}

const linked = {
  type: "resource_link" as const,
  uri: "javascript:alert(5)",
  name: markup,
  description: markup,
};

/** Its fields have names that are in the way of scripts which ask a form for its own. */
const markupForm = {
  type: "object" as const,
  properties: Object.fromEntries(
    [markup, "elements", "querySelectorAll", "addEventListener", "l", "childNodes", "parentNode"].map(
      (name) => [name, { type: "string" as const, title: `${name} ${markup}`, description: markup }],
    ),
  ),
};

function refuse({ word }: { word: string }): never {
  throw new Error(`The mirror refused ${word}`, { cause: new Error("connection reset") });
}
