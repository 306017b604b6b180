// A server on FastMCP, as its makers show it: node fastmcp-server.ts stdio, or with PORT over HTTP. It knows no tasks.
import * as z from "zod";

interface Asked {
  readonly action: string;
  readonly content?: { readonly name?: string };
}

interface ToolContext {
  readonly reportProgress: (progress: { progress: number; total: number; message: string }) => Promise<void>;
  readonly elicit: (question: object) => Promise<Asked>;
}

interface Tool<Args> {
  readonly name: string;
  readonly description: string;
  readonly parameters?: z.ZodType<Args>;
  execute(args: Args, context: ToolContext): Promise<string>;
}

interface FastMcp {
  readonly FastMCP: new (options: { name: string; version: `${number}.${number}.${number}` }) => {
    addTool<Args>(tool: Tool<Args>): void;
    start(options: object): Promise<void>;
  };
}

// Installed by the slow suite alone: the name stands in a variable, so that the compiler does not look for it.
const name: string = "fastmcp";
const { FastMCP } = (await import(name)) as FastMcp;

const server = new FastMCP({ name: "notes", version: "1.0.0" });
server.addTool({
  name: "add",
  description: "Adds two numbers",
  parameters: z.object({ a: z.number().describe("The first"), b: z.number().describe("The second") }),
  execute: async ({ a, b }) => String(a + b),
});
server.addTool({
  name: "greet",
  description: "Asks for a name, and greets",
  execute: async (_args, { elicit }) => {
    const { action, content } = await elicit({
      message: "Who is there?",
      requestedSchema: {
        type: "object",
        properties: { name: { type: "string", title: "Name" } },
        required: ["name"],
      },
    });
    return action === "accept" ? `Hello, ${content?.name}!` : `Nobody: ${action}`;
  },
});
server.addTool({
  name: "copy",
  description: "Copies 2 of 5 files, and waits for the others",
  execute: async (_args, { reportProgress }) => {
    await reportProgress({ progress: 2, total: 5, message: "copied 2 files" });
    return new Promise(() => {});
  },
});
server.addTool({
  name: "fail",
  description: "Fails",
  execute: async () => Promise.reject(new Error("there is no paper")),
});

if (process.argv[2] === "stdio") await server.start({ transportType: "stdio" });
else {
  const port = Number(process.env["PORT"]);
  await server.start({ transportType: "httpStream", httpStream: { port, host: "127.0.0.1" } });
  console.error("listening");
}
