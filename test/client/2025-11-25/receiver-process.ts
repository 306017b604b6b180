import { connect } from "holdfast/client";
import { sqliteStore } from "holdfast/sqlite";

// A client whose user never answers: it says when it is asked, and is then killed.
const [, , url = "", file = ""] = process.argv;
const client = await connect(url, {
  protocolVersion: "2025-11-25",
  receiveTasks: { store: sqliteStore(file) },
  onInput: async () => {
    process.stdout.write("asked\n");
    return new Promise(() => undefined);
  },
});
const { reference } = await client.startTool("approve");
process.stdout.write(`${JSON.stringify(reference)}\n`);
