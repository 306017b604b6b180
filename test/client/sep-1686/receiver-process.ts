// A client whose user never answers, until it is killed: node receiver-process.ts URL FILE. It says when it is asked.
import { connect } from "holdfast/client";
import { sqliteStore } from "holdfast/sqlite";

const [url = "", file = ""] = process.argv.slice(2);
const client = await connect(url, {
  protocolVersion: "2025-11-25",
  generation: "sep-1686",
  receiveTasks: { store: sqliteStore(file) },
  onInput: async () => {
    process.stdout.write("asked\n");
    return new Promise(() => undefined);
  },
});
const { reference } = await client.startTool("approve");
process.stdout.write(`${JSON.stringify(reference)}\n`);
