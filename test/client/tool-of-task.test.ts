import { connect, type ConnectOptions } from "holdfast/client";
import { expect, it, onTestFinished } from "vitest";
import { text } from "../kit/messages.ts";
import { serve } from "../kit/server.ts";

it.each<[string, ConnectOptions]>([
  ["2026-07-28", {}],
  ["2025-11-25", { protocolVersion: "2025-11-25" }],
  ["SEP-1686", { protocolVersion: "2025-06-18" }],
  ["SEP-1686 on 2025-11-25", { generation: "sep-1686" }],
])(
  "learns on %s which tool made a task that it did not start, and hears it as the first status",
  async (name, options) => {
    const { http } = await serve({
      tools: (tasks) => {
        tasks.tool("nap", {}, async (_args, task) => {
          await task.sleep("long", 3_600_000);
          return text("slept");
        });
      },
      http: { anonymous: "shared" },
    });
    const open = async (): ReturnType<typeof connect> => {
      const client = await connect(http.url, options);
      onTestFinished(() => client.close());
      return client;
    };
    const { reference } = await (await open()).startTool("nap");
    const other = await open();
    const handle = await other.resume(reference);
    const told = name.startsWith("SEP-1686") ? {} : { statusMessage: "nap" }; // its tasks have no status text
    expect(await handle.get()).toMatchObject({ tool: "nap", ...told });
    if (name !== "2026-07-28") {
      const third = await open(); // a session that begins with the list
      expect(await third.listTasks()).toMatchObject({ tasks: [{ reference, tool: "nap", ...told }] });
    }
  },
);
